// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Reads and writes `optimist_parked`: rows of the server's that do not fit the app's tables yet (R4).
struct ParkedRows {
    let db: Database

    init(_ db: Database) { self.db = db }

    /// Keeps a row in its wire form beside the table. A later version of it takes its place.
    func park(_ row: JSONObject, _ ref: RowRef, seq: Int64, reason: String?) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO optimist_parked(tbl, id, seq, row, reason) VALUES (?, ?, ?, ?, ?)",
            arguments: [
                ref.table, ref.id, seq, JSON.object(row).description, reason ?? "a constraint of the table",
            ])
    }

    /// Takes out every parked row that is understood, oldest first.
    func takeAll() throws -> [(ref: RowRef, content: PageRow.Content)] {
        let rows = try Row.fetchAll(db.cachedStatement(sql: "SELECT tbl, id, row FROM optimist_parked ORDER BY seq"))
        if rows.isEmpty { return [] }
        try db.execute(sql: "DELETE FROM optimist_parked")
        return rows.compactMap { row in
            guard let json = (try? JSON(parsing: (row[2] as String).utf8))?.object else { return nil }
            let content: PageRow.Content? =
                json["id"] != nil
                ? RowPatch(json: json).map(PageRow.Content.row)
                : Tombstone(json: .object(json)).map(PageRow.Content.deleted)
            return content.map { (RowRef(table: row[0], id: row[1]), $0) }
        }
    }
}
