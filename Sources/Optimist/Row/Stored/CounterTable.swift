// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Reads and writes `optimist_counter`, the device's totals (M3). Triggers write it while the app counts.
struct CounterTable {
    private let db: Database
    /// The tables with counters. Other tables are not queried.
    private let tables: Set<Int64>

    init(_ db: Database) throws {
        self.db = db
        tables = try Int64.fetchSet(
            db.cachedStatement(sql: "SELECT number FROM optimist_table WHERE counters IS NOT NULL"))
    }

    func counters(of ref: RowRef) throws -> [Int64: Counter] {
        guard tables.contains(ref.table) else { return [:] }
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT c.bit, n.device, c.total, c.stamp, c.confirmed, c.seq
                    FROM optimist_counter c JOIN optimist_node n ON n.number = c.node WHERE c.tbl = ? AND c.id = ?
                    """), arguments: [ref.table, ref.id])
        var counters: [Int64: Counter] = [:]
        for row in rows {
            counters[row[0], default: Counter()].totals[row[1]] = Counter.Total(
                value: row[2], stamp: Stamp(rawValue: row[3]), confirmed: row[4], seq: row[5])
        }
        return counters
    }

    /// Replaces all counters of a row. Totals of a device that `optimist_node` lacks are dropped.
    func save(_ counters: [Int64: Counter], of ref: RowRef) throws {
        guard tables.contains(ref.table) else { return }
        try db.cachedStatement(sql: "DELETE FROM optimist_counter WHERE tbl = ? AND id = ?")
            .execute(arguments: [ref.table, ref.id])
        for (bit, counter) in counters {
            for (device, total) in counter.totals {
                try db.cachedStatement(
                    sql: """
                        INSERT INTO optimist_counter(tbl, id, bit, node, total, stamp, confirmed, seq)
                        SELECT ?, ?, ?, number, ?, ?, ?, ? FROM optimist_node WHERE device = ?
                        """
                ).execute(
                    arguments: [
                        ref.table, ref.id, bit, total.value, total.stamp.rawValue, total.confirmed, total.seq, device,
                    ])
            }
        }
    }
}
