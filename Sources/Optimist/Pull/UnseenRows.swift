// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The rows that a snapshot is expected to contain and that have not arrived yet: `optimist_unseen`.
///
/// Before a resync, these are all rows that the server is known to have had. Before a first sync, they are the rows
/// that this device has sent. Snapshots omit deleted rows, so an expected row that is missing was deleted.
struct UnseenRows {
    private let scope: Int64
    private let layouts: [TableLayout]
    private let removing: RowStatement

    init(of layouts: [TableLayout], in scope: Int64, _ db: Database) throws {
        let waits = try db.cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM optimist_unseen WHERE scope = ? AND tbl = ?)")
        self.scope = scope
        self.layouts = try layouts.filter { try Bool.fetchOne(waits, arguments: [scope, $0.number]) == true }
        removing = try RowStatement("DELETE FROM optimist_unseen WHERE scope = ? AND tbl = ? AND id = ?", in: db)
    }

    /// Includes parked rows.
    static func expectAll(of table: String, in scope: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO optimist_unseen SELECT r.scope, r.tbl, r.id FROM optimist_remote r
                LEFT JOIN optimist_edit e ON e.tbl = r.tbl AND e.id = r.id
                WHERE r.scope = ?1 AND r.tbl = (SELECT number FROM optimist_table WHERE name = ?2)
                AND r.generation > 0 AND coalesce(e.generation, r.generation) & 1
                UNION SELECT scope, tbl, id FROM optimist_parked
                WHERE scope = ?1 AND tbl = (SELECT number FROM optimist_table WHERE name = ?2)
                """, arguments: [scope, table])
    }

    static func expectNothing(of table: String, in scope: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM optimist_unseen
                WHERE scope = ? AND tbl = (SELECT number FROM optimist_table WHERE name = ?)
                """, arguments: [scope, table])
    }

    static func expect(_ ref: RowRef, in scope: Int64, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR IGNORE INTO optimist_unseen(scope, tbl, id) VALUES (?, ?, ?)",
            arguments: [scope, ref.table, ref.id])
    }

    func saw(_ row: RemotePage.Row) throws {
        guard let layout = layouts.first(where: { $0.name == row.table }), let id = layout.idForm.stored(row.id) else {
            return
        }
        try removing.execute([scope.databaseValue, layout.number.databaseValue, id])
    }
}
