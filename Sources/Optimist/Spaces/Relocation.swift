// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
@_spi(Internals) import OptimistWire

/// Cuts the references between rows that move to another space and rows that stay, at the end of the transaction that
/// moves them.
///
/// Cutting a reference has the effect of deleting the row on its other side: cascade, null, or an error.
struct Relocation {
    /// The most rows that move together.
    static let maxRows = RowSync.Limit.rowsInSet

    private let tables: AppTables
    private let references: ReferenceGraph
    private let entries: RowEntryTable
    private var homes: RowHomes
    private var moving: Set<RowRef> = []

    init(_ tables: AppTables, _ entries: RowEntryTable, _ homes: RowHomes) {
        self.tables = tables
        self.entries = entries
        self.homes = homes
        references = tables.references
    }

    /// - Parameter moved: The rows whose space or parent the transaction changed.
    /// - Throws: `OptimistError` with code `tooManyToMove` or `crossesSpaces`.
    mutating func settle(_ moved: Set<RowRef>) throws {
        let below = RowsBelow(tables)
        for ref in moved where try goesElsewhere(ref) {
            moving.insert(ref)
            for child in try below.rows(below: ref) { moving.insert(child.ref) }
            if moving.count > Self.maxRows {
                throw OptimistError(
                    .tooManyToMove,
                    "At most \(Self.maxRows) rows can move to another space together. Nothing was written.")
            }
        }
        for ref in moving { try cut(ref) }
    }

    /// Whether a row leaves its space. A row that the server never had, below another parent, refers to nothing that it
    /// leaves behind.
    private mutating func goesElsewhere(_ ref: RowRef) throws -> Bool {
        guard let entry = try entries.entry(ref), entry.isPlaced else {
            if case .own? = tables[ref.table]?.layout.rules.space { return true }
            return false
        }
        let here = RowHome.scope(try homes.scope(entry.remote.scope))
        return try homes.home(of: ref) != here
    }

    private mutating func cut(_ ref: RowRef) throws {
        guard let table = tables[ref.table], let values = try table.values(ref.id) else { return }
        let home = try homes.home(of: ref)
        for column in table.layout.columns where column.name != table.layout.anchor?.name {
            guard let owner = tables.owner(by: column, values[column.name]),
                tables[owner.table]?.layout.rules.space != nil, try homes.home(of: owner) != home,
                let reference = column.reference
            else { continue }
            try cut(ref, column, reference.onDelete, in: table)
        }
        for child in try tables.children(of: ref, references) where !child.isInSpaceOfParent {
            guard try homes.home(of: child.ref) != home else { continue }
            try cut(child.ref, child.referrer.column, child.referrer.onDelete, in: child.table)
        }
    }

    private func cut(
        _ ref: RowRef, _ column: TableLayout.Column, _ action: Reference.Action, in table: AppTable
    ) throws {
        switch action {
        case .cascade: try table.delete(ref.id)
        case .setNull: try table.set([column.name: .null], at: ref.id)
        case .restrict:
            throw OptimistError(
                .crossesSpaces,
                "\(table.layout.name).\(column.name) would refer to a row of another space. Nothing was written.")
        }
    }
}
