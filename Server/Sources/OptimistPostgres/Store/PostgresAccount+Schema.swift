// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

/// Converts an account to the names and indexes of a later schema.
///
/// The account's first request converts it, under its lock. A new schema therefore takes effect account by account,
/// while older processes still serve the other accounts.
extension PostgresAccount {
    /// - Throws: ``PostgresError`` `outdated` if another process has served the account with a later schema.
    func isConverted(to schema: Schema) throws(PostgresError) -> Bool {
        if schemaVersion > schema.version { throw PostgresError(.outdated) }
        return schemaVersion == schema.version
    }

    /// Converts the account's rows within the open transaction, if necessary.
    ///
    /// - Throws: ``PostgresError``, or `StoreError.damagedRow`.
    func convert(to schema: Schema) throws {
        if try isConverted(to: schema) { return }
        try connection.enqueue(RowStatement.setSchema, [.text(account), .int(schema.version)])
        if seq == 0 { return }
        let vocabulary = Vocabulary(schema, version: schemaVersion)
        if !vocabulary.isPresent { try rename(schema, vocabulary) }
        try connection.enqueue(RowStatement.clearIndex, [.text(account)])
        for (type, definition) in schema.types where !definition.indexNames.isEmpty {
            try forEachRow(of: type) { id, row in
                if row.row.isAlive { try index(id, row, type, definition) }
            }
        }
    }

    private func index(_ id: String, _ row: StoredRow, _ type: String, _ definition: TypeSchema) throws {
        try addToIndex(definition.indexEntries(of: row.row).map { (RowKey(type, id), $0) })
    }

    private func rename(_ schema: Schema, _ vocabulary: Vocabulary) throws {
        // Rename in two steps, because one type may have taken another's name. No type's name starts with "@".
        let renamed = schema.types.keys.filter { vocabulary.formerType($0) != $0 }
        for type in renamed { try renameType(vocabulary.formerType(type), to: "@" + type) }
        for type in renamed { try renameType("@" + type, to: type) }
        for type in schema.types.keys where vocabulary.renamesColumns(of: type) {
            try forEachPage(of: type) { rows, row in
                let content = try JSON(parsing: rows.bytes(row, 1)).object.map { vocabulary.present($0, of: type) }
                let hidden = try rows.bytesIfAny(row, 2).map { try JSON(parsing: $0) }?.object.map { parts in
                    JSONObject(parts.map { ($0.key, $0.value.renamed(vocabulary, of: type)) })
                }
                try connection.enqueue(
                    RowStatement.rewrite,
                    [
                        .text(account), .text(type), .text(rows.text(row, 0)), content?.value ?? .null,
                        hidden?.value ?? .null,
                    ])
            }
        }
    }

    private func renameType(_ former: String, to name: String) throws {
        try connection.enqueue(RowStatement.renameType, [.text(account), .text(former), .text(name)])
    }

    private func forEachRow(of type: String, _ body: (String, StoredRow) throws -> Void) throws {
        try forEachPage(of: type) { rows, row in
            let id = rows.text(row, 0)
            guard
                let stored = StoredRow(
                    content: rows.bytes(row, 1), hidden: rows.bytesIfAny(row, 2), seq: 0, ordinal: 0, bornSeq: 0)
            else { throw StoreError.damagedRow(RowKey(type, id)) }
            try body(id, stored)
        }
    }

    private func forEachPage(of type: String, _ body: (PostgresRows, Int) throws -> Void) throws {
        var last = ""
        while true {
            let rows = try connection.query(RowStatement.allRows, [.text(account), .text(type), .text(last)])
            if rows.count == 0 { return }
            for row in 0..<rows.count { try body(rows, row) }
            last = rows.text(rows.count - 1, 0)
        }
    }
}

extension JSON {
    /// A part that is not an object has no columns.
    fileprivate func renamed(_ vocabulary: Vocabulary, of type: String) -> JSON {
        object.map { .object(vocabulary.present($0, of: type)) } ?? self
    }
}

extension JSONObject {
    fileprivate var value: PostgresValue { .utf8(JSON.object(self).bytes) }
}
