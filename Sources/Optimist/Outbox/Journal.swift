// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Edits of the user's that lost to newer ones or to a delete (M7). Bounded: the oldest go first.
struct Journal {
    enum Reason: String { case overwritten, deleted }

    /// How many edits are kept.
    static let capacity = 1_000

    let db: Database

    init(_ db: Database) { self.db = db }

    func record(_ ref: RowRef, reason: Reason, mine: JSONObject, at milliseconds: Int64) throws {
        try db.cachedStatement(sql: "INSERT INTO optimist_journal(tbl, id, reason, mine, at) VALUES (?, ?, ?, ?, ?)")
            .execute(arguments: [ref.table, ref.id, reason.rawValue, JSON.object(mine).description, milliseconds])
        try db.cachedStatement(sql: "DELETE FROM optimist_journal WHERE number <= ?")
            .execute(arguments: [db.lastInsertedRowID - Int64(Self.capacity)])
    }
}
