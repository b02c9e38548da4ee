// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistServing
@_spi(Internals) import OptimistWire

/// Updates stored rows to the names of a later schema.
enum SchemaRenames {
    /// - Parameter version: The schema version that the rows were stored with.
    static func apply(_ schema: Schema, from version: Int, _ db: Database) throws {
        let vocabulary = Vocabulary(schema, version: version)
        if vocabulary.isPresent { return }
        // In two steps, because a type may have taken the former name of another type. Type names never start with "@".
        for type in schema.types.keys where vocabulary.formerType(type) != type {
            try db.execute(
                sql: "UPDATE optimist_rows SET type = '@' || ? WHERE type = ?",
                arguments: [type, vocabulary.formerType(type)])
        }
        try db.execute(sql: "UPDATE optimist_rows SET type = substr(type, 2) WHERE type LIKE '@%'")
        for type in schema.types.keys where vocabulary.renamesColumns(of: type) {
            try rewrite(type, vocabulary, db)
        }
        // Makes `RowIndex` rebuild its table.
        try db.execute(sql: "DELETE FROM optimist_settings WHERE name = 'indexes'")
    }

    private static func rewrite(_ type: String, _ vocabulary: Vocabulary, _ db: Database) throws {
        let update = try db.cachedStatement(sql: "UPDATE optimist_rows SET content = ?, hidden = ? WHERE rowid = ?")
        let query =
            "SELECT rowid, content, hidden FROM optimist_rows WHERE type = ? AND rowid > ? ORDER BY rowid LIMIT 500"
        var last = Int64.min
        while true {
            let rows = try Row.fetchAll(db, sql: query, arguments: [type, last])
            for row in rows {
                last = row[0]
                let content = try JSON(parsing: row.bytes(at: 1)).object.map { vocabulary.present($0, of: type) }
                let hidden = try row.bytesIfAny(at: 2).map { try JSON(parsing: $0) }?.object.map { parts in
                    JSONObject(parts.map { ($0.key, $0.value.renamed(vocabulary, of: type)) })
                }
                try update.execute(arguments: [content?.text, hidden?.text, last])
            }
            if rows.isEmpty { return }
        }
    }
}

extension JSON {
    fileprivate func renamed(_ vocabulary: Vocabulary, of type: String) -> JSON {
        object.map { .object(vocabulary.present($0, of: type)) } ?? self
    }
}

extension JSONObject {
    fileprivate var text: String { String(decoding: JSON.object(self).bytes, as: UTF8.self) }
}
