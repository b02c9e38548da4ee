// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) package import OptimistWire

/// Stores the app's schema with the data, and refuses a schema that contradicts it.
package enum SchemaRegister {
    /// Accepts a schema when the server starts, and creates a readable view for each of its types.
    ///
    /// - Parameter accepted: The breaking changes that the operator accepts.
    /// - Throws: ``OptimistError`` with code `schemaConflict` if the data has a later version or belongs to another
    ///   app, or if the breaking changes are not the accepted ones. Nothing is changed then.
    static func accept(_ schema: Schema, accepting accepted: [SchemaChange] = [], in writer: some DatabaseWriter) throws
    {
        try writer.write { db in
            let known = try versions(of: schema.id, db)
            try check(
                schema, known: known, otherApp: try String.fetchOne(db, sql: "SELECT id FROM optimist_schemas LIMIT 1"))
            try db.execute(
                sql: "INSERT OR IGNORE INTO optimist_schemas (id, version, content) VALUES (?, ?, ?)",
                arguments: [schema.id, schema.version, content(of: schema)])
            if let latest = known.first { try SchemaRenames.apply(schema, from: latest.version, db) }
            try makeViews(schema, db)
            try RowIndex.keepUp(with: schema, db)
            try SchemaConsent(to: schema, from: known, accepted) { try collisions($0, $1, db) }.check()
        }
    }

    package struct Version: Sendable {
        package var version: Int
        package var content: String

        package init(version: Int, content: String) {
            self.version = version
            self.content = content
        }
    }

    package static func content(of schema: Schema) -> String {
        String(decoding: schema.json.canonicalBytes, as: UTF8.self)
    }

    /// Refuses a schema that contradicts the stored ones or belongs to another app.
    ///
    /// - Parameters:
    ///   - schema: The schema.
    ///   - known: The stored versions of the schema with this id, latest first.
    ///   - otherApp: The id of any stored schema.
    /// - Throws: `OptimistError` with code `schemaConflict`.
    package static func check(_ schema: Schema, known: [Version], otherApp: String?) throws {
        if let latest = known.first, let objection = objection(to: schema, content(of: schema), latest: latest) {
            throw OptimistError(.schemaConflict, objection)
        }
        if known.isEmpty, let otherApp {
            throw OptimistError(
                .schemaConflict,
                "This data belongs to the app \"\(otherApp)\", not to \"\(schema.id)\". Choose another data directory or database."
            )
        }
    }

    /// Latest first.
    private static func versions(of id: String, _ db: Database) throws -> [Version] {
        let sql = "SELECT version, content FROM optimist_schemas WHERE id = ? ORDER BY version DESC"
        return try Row.fetchAll(db, sql: sql, arguments: [id]).map { Version(version: $0[0], content: $0[1]) }
    }

    private static func collisions(_ type: String, _ index: UniqueIndex, _ db: Database) throws -> Int {
        let sql = """
            SELECT coalesce(sum(rows), 0) FROM (
                SELECT count(*) AS rows FROM optimist_index WHERE type = ? AND name = ?
                GROUP BY account_id, key HAVING count(*) > 1)
            """
        return try Int.fetchOne(db, sql: sql, arguments: [type, index.name]) ?? 0
    }

    private static func objection(to schema: Schema, _ content: String, latest: Version) -> String? {
        if schema.version < latest.version {
            return """
                The schema \"\(schema.id)\" has version \(schema.version), but this data was last served with version \
                \(latest.version). Start with that version or a later one.
                """
        }
        if schema.version == latest.version, content != latest.content {
            return """
                The schema \"\(schema.id)\" has changed but is still version \(schema.version). Increase its \
                \"version\" by one, or undo the change.
                """
        }
        return nil
    }

    /// Lets an operator query rows as tables. Columns of apps never start with "@".
    private static func makeViews(_ schema: Schema, _ db: Database) throws {
        for view in try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'view'") {
            try db.execute(sql: "DROP VIEW \(view.quotedDatabaseIdentifier)")
        }
        for (type, definition) in schema.types {
            let columns = definition.columns.keys.sorted().map { column in
                "json_extract(content, '$.\(column)') AS \(column.quotedDatabaseIdentifier), "
            }
            try db.execute(
                sql: """
                    CREATE VIEW \(type.quotedDatabaseIdentifier) AS SELECT account_id AS "@account", id,
                    \(columns.joined()) seq AS "@seq", generation AS "@gen"
                    FROM optimist_rows WHERE type = '\(type)' AND generation % 2 = 1
                    """)
        }
    }
}
