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
/// The home of a row that the server has, or may have, is where the device sent it or received it from. A new row is in
/// the space of its root: see ``SpaceRule``.
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
        case .of(let column):
            guard let key = layout[column: column], let parent = tables.owner(by: key, values[column]) else {
                return .scope(try scope(Scope.personal))
            }
            return try home(of: parent)
        }
    }

    /// - Parameter values: The columns of the row, or nil for a deleted one.
    mutating func home(of entry: RowEntry, _ values: JSONObject?, in layout: TableLayout) throws -> RowHome {
        guard layout.rules.space != nil, !entry.isPlaced, let values else {
            return .scope(try scope(entry.remote.scope))
        }
        return try target(of: values, in: layout)
    }

    mutating func home(of ref: RowRef) throws -> RowHome {
        if let home = known[ref] { return home }
        guard let table = tables[ref.table] else { return .unknown(.parentUnknown) }
        let home: RowHome
        if let entry = try entries.entry(ref), entry.isPlaced {
            home = .scope(try scope(entry.remote.scope))
        } else if let values = try table.values(ref.id) {
            home = try target(of: values, in: table.layout)
        } else {
            home = .unknown(.parentUnknown)
        }
        known[ref] = home
        return home
    }

    mutating func home(inSpace space: String?) throws -> RowHome {
        guard let space else { return .scope(try scope(Scope.personal)) }
        guard let number = try Scope.number(ofSpace: space, in: entries.db) else { return .unknown(.unknownSpace) }
        return .scope(try scope(number))
    }

    private mutating func scope(_ number: Int64) throws -> Scope {
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

extension DeferralReason {
    /// The row names a space that the person does not use.
    static let unknownSpace = DeferralReason("unknownSpace")
    /// The device does not have the row's parent, which decides about its space.
    static let parentUnknown = DeferralReason("parentUnknown")
}
