// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

/// A transaction's writes to tables whose rows can be in a space, as the triggers report them.
///
/// Rows with the same anchor have the same home, so a transaction with many rows below one parent notes one anchor.
struct SpaceWrites: Equatable, Sendable {
    /// The value that decides about the space of a table's rows: a space, or a parent.
    struct Anchor: Hashable, Sendable {
        let table: Int64
        let value: DatabaseValue
    }

    private(set) var anchors: Set<Anchor> = []
    /// The root rows that were changed or deleted, with their spaces before.
    private(set) var roots: [RowRef: DatabaseValue] = [:]
    /// Whether a root row names a space.
    private(set) var namesSpace = false
    /// The rows whose anchor changed.
    private(set) var moved: Set<RowRef> = []
    /// The rows of tables in which each row is looked at.
    private(set) var rows: Set<RowRef> = []
    /// The member rows that were owners before the transaction changed or deleted them.
    private(set) var formerOwners: Set<RowRef> = []

    /// Whether the check depends on nothing but the anchors.
    var hasOnlyAnchors: Bool { roots.isEmpty && rows.isEmpty && moved.isEmpty }

    fileprivate mutating func note(_ row: WrittenRow, in table: SharedTables.Table) {
        let present = row.value(at: table.place)?.databaseValue
        let former = row.former(at: table.place)?.databaseValue
        let ref = RowRef(table: row.table, id: ValueView(row.id).databaseValue)
        var values = [present, former]
        if table.isRoot, let former {
            if roots[ref] == nil { roots[ref] = former }
            values = present == former ? [] : [present]
        }
        // Null is the person's own account.
        for value in values.compactMap(\.self) where !value.isNull {
            anchors.insert(Anchor(table: row.table, value: value))
        }
        namesSpace = namesSpace || table.isRoot && [present, former].contains { $0?.isNull == false }
        if let present, let former, present != former { moved.insert(ref) }
        if table.isLookedAt { rows.insert(ref) }
        if let place = table.rolePlace, row.former(at: place)?.databaseValue == SpaceRole.owner.databaseValue {
            formerOwners.insert(ref)
        }
    }
}

/// The tables whose rows can be in a space, for the triggers.
struct SharedTables: Sendable {
    struct Table: Sendable {
        /// The place of the column that decides about the space, among the table's columns.
        let place: Int
        /// Whether the column holds a space, not a parent.
        let isRoot: Bool
        /// Whether the rule for a write depends on the row, not only on its space.
        let isLookedAt: Bool
        /// The place of a member's role. Nil in other tables.
        let rolePlace: Int?
    }

    private var tables: [Int64: Table] = [:]

    init(_ layouts: [TableLayout] = []) {
        let shared = Set(layouts.filter { $0.rules.space != nil }.map(\.name))
        for layout in layouts {
            guard let rule = layout.rules.space,
                let place = layout.columns.firstIndex(where: { $0.name == rule.column })
            else { continue }
            let others = layout.columns.filter { $0.name != rule.column && shared.contains($0.reference?.table ?? "") }
            let isMember = layout.name == MemberRow.databaseTableName
            tables[layout.number] = Table(
                place: place, isRoot: rule == .own(rule.column),
                isLookedAt: SpaceTables.contain(layout.name) || !others.isEmpty,
                rolePlace: isMember ? layout.columns.firstIndex { $0.name == "role" } : nil)
        }
    }

    func note(_ row: WrittenRow, in writes: inout SpaceWrites) {
        if let table = tables[row.table] { writes.note(row, in: table) }
    }
}
