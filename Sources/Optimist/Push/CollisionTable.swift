// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Reads and writes `optimist_collision`: what a rejection says about the row that already has the values.
///
/// An entry is deleted with its rejection. Older versions of Optimist ignore the table.
struct CollisionTable {
    private let db: Database

    init(_ db: Database) { self.db = db }

    static let definition = """
        CREATE TABLE optimist_collision(
            number INTEGER PRIMARY KEY REFERENCES optimist_rejection(number) ON DELETE CASCADE,
            columns TEXT NOT NULL,              -- all columns at fault, ["column"]
            winner TEXT                         -- the id of the row that has the values, null: it is not known
        )
        """

    /// Stores nothing unless the refusal names several columns or the winner: `optimist_rejection` has a place for the rest.
    func insert(_ refusal: RemotePush.Refusal, of number: Int64) throws {
        if refusal.columns.count < 2, refusal.winner == nil { return }
        let columns = JSON.array(refusal.columns.map(JSON.string)).description
        try db.execute(
            sql: "INSERT INTO optimist_collision VALUES (?, ?, ?)", arguments: [number, columns, refusal.winner])
    }

    /// - Returns: The columns and the winner, by the number of the rejection. Empty if the file has no such table, because an
    ///   older version wrote it.
    func all() throws -> [Int64: (columns: [String], winner: String?)] {
        guard try db.tableExists("optimist_collision") else { return [:] }
        let rows = try Row.fetchAll(db, sql: "SELECT number, columns, winner FROM optimist_collision")
        var all: [Int64: (columns: [String], winner: String?)] = [:]
        for row in rows {
            let columns = try? JSON(parsing: (row[1] as String).utf8)
            all[row[0] as Int64] = (columns: columns?.array?.compactMap(\.string) ?? [], winner: row[2] as String?)
        }
        return all
    }

    /// Follows the renaming of a column.
    func rename(_ former: String, to name: String, ofTable number: Int64) throws {
        try db.execute(
            sql: """
                UPDATE optimist_collision
                SET columns = (SELECT json_group_array(iif(c.value = ?1, ?2, c.value)) FROM json_each(columns) c)
                WHERE number IN (SELECT number FROM optimist_rejection WHERE tbl = ?3)
                """, arguments: [former, name, number])
    }
}
