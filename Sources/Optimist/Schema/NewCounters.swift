// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Turns plain columns into counters when a new version of the app declares them as such (M3).
///
/// The app wrote their unsent values as plain values. The engine turns each into a count of this device: the difference
/// from the server's value, or from zero if the server does not have the row.
struct NewCounters {
    private let db: Database
    private let former: [String: Set<String>]

    /// Reads the previous counters. Call this before the tables' new rules are stored.
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
            let base = """
                CASE WHEN e.stamps ->> '$.\(RowEntryTable.lifeKey)' IS NOT NULL OR e.generation = \
                (SELECT r.generation FROM optimist_remote r WHERE r.tbl = e.tbl AND r.id = e.id) \
                THEN CAST(e.base ->> '$.\(column.name)' AS INTEGER) END
                """
            let added = "coalesce(t.\"\(column.name)\", 0) - coalesce(\(base), 0)"
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO optimist_counter(tbl, id, bit, node, total, stamp)
                    SELECT e.tbl, e.id, ?2, (SELECT value FROM optimist_meta WHERE name = 'node'), \(added),
                    coalesce(e.stamps ->> '$.\(column.name)', e.stamp)
                    FROM optimist_edit e JOIN \(layout.quotedName) t ON t.id = e.id
                    WHERE e.tbl = ?1 AND e.generation & 1 AND e.dirty & ?3
                    AND json_type(e.stamps, '$.\(column.name)') IS NOT 'text' AND \(added) <> 0
                    """, arguments: [layout.number, column.bit, column.mask])
        }
    }
}
