// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Updates the engine's tables after a migration dropped a synced table (L1).
///
/// If the table is created again, the device receives it from the beginning. The engine therefore forgets the table's
/// cursor and the server's state of its rows. Unsent deletions, rejections and the journal stay, because they are the
/// user's edits.
struct GoneTables {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// - Parameter known: The known tables' numbers, after renames.
    func settle(_ known: [String: Int64]) throws {
        for (name, number) in known where try !db.tableExists(name, in: "main") { try forget(number) }
    }

    /// Idempotent.
    func forget(_ number: Int64) throws {
        try db.execute(sql: "DELETE FROM optimist_edit WHERE tbl = ? AND generation & 1", arguments: [number])
        try db.execute(
            sql: """
                DELETE FROM optimist_remote WHERE tbl = ?1
                AND id NOT IN (SELECT e.id FROM optimist_edit e WHERE e.tbl = ?1)
                """, arguments: [number])
        for table in [
            "optimist_counter", "optimist_unknown", "optimist_unseen", "optimist_parked", "optimist_progress",
        ] {
            try db.execute(sql: "DELETE FROM \(table) WHERE tbl = ?", arguments: [number])
        }
    }
}
