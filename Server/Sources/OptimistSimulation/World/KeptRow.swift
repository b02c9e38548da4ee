// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The values of one row in a device's journal or rejections.
struct KeptRow {
    let name: RowName
    let values: Values
    /// The counts that were not sent.
    let counts: [Int64]
    let isRefused: Bool

    private static let sql = """
        SELECT t.name, k.id, k.mine, k.isRefused FROM (
            SELECT tbl, id, mine, 0 AS isRefused FROM optimist_journal
            UNION ALL SELECT tbl, id, whole, 0 FROM optimist_journal WHERE whole IS NOT NULL
            UNION ALL SELECT tbl, id, mine, 1 FROM optimist_rejection
        ) k JOIN optimist_table t ON t.number = k.tbl
        """

    static func all(_ db: Database) throws -> [KeptRow] {
        try Row.fetchAll(db, sql: sql).compactMap { row in
            guard let id = Rows.text(row[1]) else { return nil }
            let members = try JSON(parsing: (row[2] as String).utf8).object?.members ?? []
            return KeptRow(
                name: RowName(table: row[0], id: id),
                values: Values(members.map { ($0.key, Rows.text($0.value)) }, uniquingKeysWith: { $1 }),
                counts: members.compactMap { $0.value["@add"]?.int }, isRefused: row[3])
        }
    }
}
