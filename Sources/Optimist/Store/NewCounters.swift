// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Lets columns count that did not until the app's last version (M3).
///
/// Their unsent values were written as plain values. From now on they count as what this device has added: to zero in a
/// row that the server does not have, and otherwise to the server's value, which goes on from there.
struct NewCounters {
    private let db: Database
    /// The columns that counted before, by table.
    private let former: [String: Set<String>]

    /// Called before the tables' rules are noted.
    init(_ db: Database) throws {
        self.db = db
        let rows = try Row.fetchAll(db, sql: "SELECT name, counters FROM optimist_table")
        former = Dictionary(
            rows.map { row in
                let names = (row[1] as String?).flatMap { try? JSON(parsing: $0.utf8) }?.array ?? []
                return (row[0], Set(names.compactMap(\.string)))
            }, uniquingKeysWith: { $1 })
    }

    func begin(in layout: TableLayout) throws {
        for column in layout.counters where former[layout.name]?.contains(column.name) == false {
            let base = "CASE WHEN r.acked = r.generation THEN CAST(r.base ->> '$.\(column.name)' AS INTEGER) END"
            let added = "coalesce(t.\"\(column.name)\", 0) - coalesce(\(base), 0)"
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO optimist_counter(tbl, id, bit, node, total, stamp)
                    SELECT r.tbl, r.id, ?2, (SELECT value FROM optimist_meta WHERE name = 'node'), \(added),
                    coalesce(r.stamps ->> '$.\(column.name)', r.stamp, r.pending)
                    FROM optimist_row r JOIN \(layout.quotedName) t ON t.id = r.id
                    WHERE r.tbl = ?1 AND r.pending IS NOT NULL AND r.generation & 1 AND r.dirty & ?3 AND \(added) <> 0
                    """, arguments: [layout.number, column.bit, column.mask])
        }
    }
}
