// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistServing
import OptimistWire

struct EmbeddedData: CheckedData {
    private let db: Database
    /// Nil if an earlier version made the index, or if no server has started yet.
    private let schema: Schema?

    init(_ db: Database) throws {
        self.db = db
        let content = try String.fetchOne(db, sql: "SELECT content FROM optimist_schemas ORDER BY version DESC LIMIT 1")
        let latest = try content.map { try Schema(json: JSON(parsing: $0.utf8)) }
        schema = try latest.flatMap { try RowIndex.isPresent(for: $0, db) ? $0 : nil }
    }

    func texts(_ query: CheckedQuery) throws -> [String] { try String.fetchAll(db, sql: query.sql) }

    func forEachRow(_ body: (AuditedRow) throws -> Bool) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT account_id, type, id, generation, content, hidden FROM optimist_rows
                ORDER BY account_id, type, id
                """)
        while let row = try rows.next() {
            let checked = AuditedRow(
                account: row[0], type: row[1], id: row[2], isAlive: (row[3] as Int) % 2 == 1,
                content: try row.bytes(at: 4), hidden: try row.bytesIfAny(at: 5))
            guard try body(checked) else { return }
        }
    }

    func entries(of account: String, type: String) throws -> [String: Set<IndexEntry>] {
        let rows = try Row.fetchCursor(
            db, sql: "SELECT id, name, key FROM optimist_index WHERE account_id = ? AND type = ?",
            arguments: [account, type])
        var entries: [String: Set<IndexEntry>] = [:]
        while let row = try rows.next() {
            entries[row[0], default: []].insert(IndexEntry(index: row[1], key: IndexKey(row[2])))
        }
        return entries
    }

    func schema(of account: String) throws -> Schema? { schema }

    func stored(_ entry: IndexEntry) -> IndexEntry { entry }
}
