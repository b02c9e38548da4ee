// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Makes one row of two, after the server has decided that they are one by a unique index (M6). References follow.
struct Mergers {
    private let tables: AppTables
    private let references: ReferenceGraph
    private let db: Database

    init(_ tables: AppTables, _ references: ReferenceGraph, _ db: Database) {
        self.tables = tables
        self.references = references
        self.db = db
    }

    /// Lets what refers to a row refer to another one.
    ///
    /// - Throws: `DatabaseError` of a constraint.
    func repoint(from loser: RowRef, to winner: DatabaseValue) throws {
        guard let table = tables[loser.table] else { return }
        for referrer in references.referrers(to: table.layout.name) {
            guard let children = tables[referrer.layout.number] else { continue }
            let name = "\"\(referrer.column.name)\""
            try DatabaseError.asConstraint {
                try db.cachedStatement(sql: "\(children.updateSQL) \(name) = ? WHERE \(name) = ?")
                    .execute(arguments: [winner, loser.id])
            }
        }
    }

    /// Removes the loser, or lets it stand for a winner that has not been received yet.
    ///
    /// - Returns: Whether that could be done. A winner that this device has deleted cannot be referred to.
    func unite(_ loser: RowRef, with winner: RowRef, _ entries: inout RowEntryTable) throws -> Bool {
        var united = entries
        let isDone = try db.keepingWhatFits { try replace(loser, by: winner, &united) }
        if isDone { entries = united }
        return isDone
    }

    private func replace(_ loser: RowRef, by winner: RowRef, _ entries: inout RowEntryTable) throws {
        guard let table = tables[loser.table] else { return }
        try repoint(from: loser, to: winner.id)
        if try table.contains(winner.id) { return try table.make(.delete, at: loser.id) }
        if try entries.entry(winner) != nil { return try table.make(.delete, at: loser.id) }
        try DatabaseError.asConstraint {
            try db.cachedStatement(sql: "\(table.updateSQL) id = ? WHERE id = ?")
                .execute(arguments: [winner.id, loser.id])
        }
        var entry = RowEntry(ref: winner, generation: 1)
        entry.acked = 1
        // What it shows is the loser's, until the winner itself comes.
        entry.known = 0
        try entries.save(entry)
    }
}
