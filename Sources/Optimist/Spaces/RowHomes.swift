// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

/// The scope in which a row belongs, or why it cannot be sent.
enum RowHome: Equatable {
    case scope(Scope)
    case unknown(DeferralReason)
}

/// Finds the homes of rows within one transaction (P3).
///
/// If the server has the row, or may have it, its home is the scope that the device sent it to or received it from. An
/// unsent move of the row, or of a row above it, changes that. A new row is in the space of its root: see ``SpaceRule``.
struct RowHomes {
    private let tables: AppTables
    private let entries: RowEntryTable
    private var known: [RowRef: RowHome] = [:]
    private var scopes: [Int64: Scope] = [:]

    /// Call ``Scope/followSpaces(_:in:)`` before.
    init(_ tables: AppTables, _ entries: RowEntryTable) {
        self.tables = tables
        self.entries = entries
    }

    /// The home of a row by its columns, even if the server has the row elsewhere.
    mutating func target(of values: JSONObject, in layout: TableLayout) throws -> RowHome {
        switch layout.rules.space {
        case nil: return .scope(try scope(Scope.personal))
        case .own(let column): return try home(inSpace: values[column]?.string)
        case .of:
            guard let parent = tables.parent(by: values, in: layout) else { return .scope(try scope(Scope.personal)) }
            return try home(of: parent)
        }
    }

    /// Where to send a row. A row that the server has is sent to another scope only if the user moved this very row,
    /// because a moved row takes along the rows below it.
    ///
    /// - Parameter values: The columns of the row, or nil for a deleted one.
    mutating func destination(of entry: RowEntry, _ values: JSONObject?, in layout: TableLayout) throws -> RowHome {
        guard layout.rules.space != nil, let values, !entry.isPlaced || entry.isMoved(by: layout.anchor) else {
            return .scope(try scope(entry.remote.scope))
        }
        return try target(of: values, in: layout)
    }

    /// Where a row will be when everything unsent is sent.
    mutating func home(of ref: RowRef) throws -> RowHome {
        if let home = known[ref] { return home }
        let home = try find(ref)
        known[ref] = home
        return home
    }

    private mutating func find(_ ref: RowRef) throws -> RowHome {
        guard let table = tables[ref.table] else { return .unknown(.parentUnknown) }
        let entry = try entries.entry(ref)
        guard let values = try table.values(ref.id) else {
            guard let entry, entry.isPlaced else { return .unknown(.parentUnknown) }
            return .scope(try scope(entry.remote.scope))
        }
        guard let entry, entry.isPlaced, !entry.isMoved(by: table.layout.anchor) else {
            return try target(of: values, in: table.layout)
        }
        if let carrier = try carrier(of: entry, values, in: table.layout) { return try home(of: carrier) }
        return .scope(try scope(entry.remote.scope))
    }

    /// The parent of a row, if the parent takes along the row when it moves: if both are where the server has them.
    private func carrier(of entry: RowEntry, _ values: JSONObject, in layout: TableLayout) throws -> RowRef? {
        guard let parent = tables.parent(by: values, in: layout), let above = try entries.entry(parent), above.isPlaced,
            above.remote.scope == entry.remote.scope
        else { return nil }
        return parent
    }

    /// The row whose unsent move changes where a row is: the row itself or one above it. Nil if no such row moves.
    func movedRow(above ref: RowRef) throws -> RowRef? {
        guard let table = tables[ref.table], let entry = try entries.entry(ref), entry.isPlaced else { return nil }
        if entry.isMoved(by: table.layout.anchor) { return ref }
        guard let values = try table.values(ref.id), let carrier = try carrier(of: entry, values, in: table.layout)
        else { return nil }
        return try movedRow(above: carrier)
    }

    mutating func home(inSpace space: String?) throws -> RowHome {
        guard let space else { return .scope(try scope(Scope.personal)) }
        guard let number = try Scope.number(ofSpace: space, in: entries.db) else { return .unknown(.unknownSpace) }
        return .scope(try scope(number))
    }

    mutating func scope(_ number: Int64) throws -> Scope {
        if let scope = scopes[number] { return scope }
        let scope = number == Scope.personal ? Scope(number: number) : try Scope.fetch(number, in: entries.db)
        scopes[number] = scope
        return scope
    }
}

extension RowEntry {
    /// Whether the server has the row, or may have it, so that only a move changes where it is.
    var isPlaced: Bool { remote.generation > 0 || sent & TableLayout.lifeMask != 0 }
}

extension TableLayout {
    /// The column that decides about a row's space. Nil if the table's rows are in the person's own account.
    var anchor: Column? { rules.space.flatMap { self[column: $0.column] } }
}

extension AppTables {
    /// The row that decides about a row's space. Nil for a root row, and for a row without its parent.
    func parent(by values: JSONObject, in layout: TableLayout) -> RowRef? {
        guard case .of(let column) = layout.rules.space, let key = layout[column: column] else { return nil }
        return owner(by: key, values[column])
    }
}

extension DeferralReason {
    /// The row names a space that the person does not use.
    static let unknownSpace = DeferralReason("unknownSpace")
    /// The device does not have the row's parent, which decides about its space.
    static let parentUnknown = DeferralReason("parentUnknown")
}
