// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// The table that finds rows by their column values.
enum RowIndex {
    /// Raise this when the way to make or compare keys changes; tables are then rebuilt. Form 1 treated letters that
    /// only look alike as equal.
    private static let form = 2

    static func isPresent(_ db: Database) throws -> Bool {
        let present = try String.fetchOne(db, sql: "SELECT value FROM optimist_settings WHERE name = 'indexes'")
        return present?.hasPrefix("\(form) ") == true
    }

    static func isPresent(for schema: Schema, _ db: Database) throws -> Bool {
        try String.fetchOne(db, sql: "SELECT value FROM optimist_settings WHERE name = 'indexes'")
            == setting(for: schema)
    }

    private static func setting(for schema: Schema) -> String {
        "\(form) \(SpaceTypes().added(to: schema).indexNames.canonicalText)"
    }

    static func add(_ entry: IndexEntry, _ key: RowKey, account: String, _ db: Database) throws {
        let insert = try db.cachedStatement(
            sql: "INSERT OR IGNORE INTO optimist_index (account_id, type, name, key, id) VALUES (?, ?, ?, ?, ?)")
        try insert.execute(arguments: [account, key.type, entry.index, entry.key.text, key.id])
    }

    /// Rebuilds the table if it has an earlier form or was made for other indexes.
    ///
    /// Existing rows may violate a new unique constraint. They are kept; only later writes are checked.
    static func keepUp(with schema: Schema, _ db: Database) throws {
        if try isPresent(for: schema, db) { return }
        let types = SpaceTypes().added(to: schema).types
        try db.execute(sql: "DELETE FROM optimist_index")
        let rows = try Row.fetchCursor(
            db,
            sql: "SELECT account_id, type, id, content, hidden FROM optimist_rows WHERE generation % 2 = 1")
        while let row = try rows.next() {
            let key = RowKey(row[1], row[2])
            guard let type = types[key.type] else { continue }
            guard
                let stored = StoredRow(
                    content: try row.bytes(at: 3), hidden: try row.bytesIfAny(at: 4), seq: 0, ordinal: 0, bornSeq: 0)
            else { throw StoreError.damagedRow(key) }
            for entry in type.indexEntries(of: stored.row) { try add(entry, key, account: row[0], db) }
        }
        try db.execute(
            sql: "INSERT OR REPLACE INTO optimist_settings (name, value) VALUES ('indexes', ?)",
            arguments: [setting(for: schema)])
    }
}

extension Schema {
    fileprivate var indexNames: JSON {
        let names = types.mapValues { $0.indexNames.sorted().map(JSON.string) }.filter { !$0.value.isEmpty }
        return .object(JSONObject(names.map { ($0.key, .array($0.value)) }))
    }
}

extension JSON {
    fileprivate var canonicalText: String { String(decoding: canonicalBytes, as: UTF8.self) }
}
