// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
package import OptimistServer
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

extension PostgresOpening {
    /// Makes a schema of the database with a read-only view for each type, or replaces the views that it made before.
    /// Servers may keep running.
    ///
    /// Rows under former names of types and columns are converted first, as servers do at an account's next request.
    ///
    /// - Parameters:
    ///   - name: The schema.
    ///   - reader: A role to which the views are granted, also the views of later calls. Nil: none.
    /// - Returns: The names of the views.
    /// - Throws: `OptimistError` with code `schemaConflict` if no server has served the database, `views.bad` if the
    ///   schema has other contents or other views depend on the views, or a code of the database.
    package func makeViews(in name: String, for reader: String?, _ keys: ServerKeys) async throws -> [String] {
        try await explaining { try keys.check(try migrated()) }
        guard let schema = try await rememberedSchema() else { throw OptimistError.noServedSchema(at: database.place) }
        try await convert(to: schema, keys)
        return try await explaining {
            let connection = try migrated()
            return try connection.transaction { connection in
                _ = try connection.query(SharedStatement.lockSetup)
                try Self.clear(name, connection)
                let views = schema.types.sorted { $0.key < $1.key }.map { type, definition in
                    ReportView(schema: name, type: type, definition: definition)
                }
                for view in views { try connection.script(view.sql) }
                if let reader { try connection.script(ReportView.grants(of: name, to: reader)) }
                return views.map(\.type)
            }
        }
    }

    private func convert(to schema: Schema, _ keys: ServerKeys) async throws {
        let rows = try await assemble(schema, keys).rows
        while true {
            let accounts = try await explaining {
                try migrated().query(ViewStatement.outdated, [.int(schema.version)]).texts
            }
            if accounts.isEmpty { return }
            try await rows.write(accounts: Set(accounts), as: .operator) { _ in }
        }
    }

    /// Makes the schema, or empties it if an earlier call made it.
    private static func clear(_ name: String, _ connection: PostgresConnection) throws {
        let found = try connection.query(ViewStatement.comment, [.text(name)])
        if found.count == 0 {
            return try connection.script(
                """
                CREATE SCHEMA \(name.sqlName);
                COMMENT ON SCHEMA \(name.sqlName) IS \(ReportView.comment.sqlText)
                """)
        }
        guard found.textIfAny(0, 0) == ReportView.comment else {
            throw OptimistError(
                .badViews,
                "The database has a schema \"\(name)\" that this command did not make. Choose another with --into.")
        }
        for view in try connection.query(ViewStatement.views, [.text(name)]).texts {
            do { try connection.script("DROP VIEW \(name.sqlName).\(view.sqlName)") } catch {
                guard error.state == "2BP01" else { throw error }
                throw OptimistError(
                    .badViews,
                    "Other views depend on \(name).\(view). Drop them first, and make them again afterwards.",
                    cause: error)
            }
        }
    }
}

/// The view of one type.
package struct ReportView {
    let schema: String
    let type: String
    let definition: TypeSchema

    static let comment = "Made by optimist views"

    /// The statements that let a role read the present views, and the views of later calls.
    package static func grants(of schema: String, to reader: String) -> String {
        """
        GRANT USAGE ON SCHEMA \(schema.sqlName) TO \(reader.sqlName);
        GRANT SELECT ON ALL TABLES IN SCHEMA \(schema.sqlName) TO \(reader.sqlName);
        ALTER DEFAULT PRIVILEGES IN SCHEMA \(schema.sqlName) GRANT SELECT ON TABLES TO \(reader.sqlName);
        """
    }

    /// The content is parsed once for each row, because `OFFSET 0` keeps the inner query. `security_barrier` keeps
    /// functions of a reader from seeing other rows of the table.
    var sql: String {
        let columns = ReportColumns(of: definition).columns.map { "\($0.sql) AS \($0.shown.sqlName)" }
        let own = [
            "r.account_id AS \(ReportColumns.account)", "r.id AS \(ReportColumns.id)",
            "\(Self.changed) AS \(ReportColumns.changed)",
        ]
        return """
            CREATE VIEW \(schema.sqlName).\(type.sqlName) WITH (security_barrier) AS
            SELECT \((own + columns).joined(separator: ",\n    "))
            FROM optimist_rows r CROSS JOIN LATERAL (
                SELECT (CASE WHEN strpos(r.content, '\\u0000') = 0 THEN r.content
                    ELSE regexp_replace(r.content, \(Self.zero), 'g') END)::jsonb AS j OFFSET 0) AS c
            WHERE r.type = \(type.sqlText) AND r.generation % 2 = 1
            """
    }

    /// U+0000, which jsonb does not have, becomes U+FFFD. After an odd number of backslashes it is not an escape.
    private static let zero = #"'(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd'"#

    /// A clock begins with 12 hexadecimal digits, the milliseconds since 1970.
    private static let changed = """
        to_timestamp(('x' || lpad(left(CASE jsonb_typeof(c.j -> '@hlc') WHEN 'string' THEN c.j ->> '@hlc'
            ELSE (SELECT max(e.value COLLATE "C") FROM jsonb_each_text(c.j -> '@hlc') e) END, 12), 16, '0'))
            ::bit(64)::bigint / 1000.0)
        """
}

extension ReportColumns.Column {
    /// A value of another type, as before a change of the schema, is null.
    fileprivate var sql: String {
        let (json, text) = ("c.j -> \(name.sqlText)", "c.j ->> \(name.sqlText)")
        return switch type {
        case .string, .data, .ref, .blob: "(\(text))"
        case .bool: "CASE jsonb_typeof(\(json)) WHEN 'boolean' THEN (\(text))::boolean END"
        case .number: "CASE jsonb_typeof(\(json)) WHEN 'number' THEN (\(text))::float8 END"
        case .counter: "coalesce(\(Self.integer(text)), 0)"
        case .int, .int64: Self.integer(text)
        case .date: Self.date(text)
        case .json: "nullif(\(json), 'null'::jsonb)"
        }
    }

    private static func integer(_ text: String) -> String {
        """
        CASE WHEN \(text) ~ '^-?[0-9]{1,19}$' THEN
            CASE WHEN (\(text))::numeric BETWEEN \(Int64.min) AND \(Int64.max) THEN (\(text))::bigint END END
        """
    }

    /// A cast of another text, or of a day that the month does not have, would fail the whole query. PostgreSQL does not
    /// have a year 0.
    private static func date(_ text: String) -> String {
        """
        CASE WHEN \(text) ~ '\(form)' AND left(\(text), 4) <> '0000' THEN
            CASE WHEN substr(\(text), 9, 2)::int
                <= date_part('day', (left(\(text), 7) || '-01')::date + interval '1 month' - interval '1 day')
                THEN (\(text))::timestamptz END END
        """
    }

    private static let form =
        "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)([.][0-9]{1,9})?Z$"
}

enum ViewStatement: String, PostgresStatement, CaseIterable {
    case outdated, comment, views

    var sql: String {
        switch self {
        case .outdated:
            "SELECT account_id FROM optimist_accounts WHERE schema_version < $1 ORDER BY account_id LIMIT 100"
        case .comment:
            """
            SELECT pg_catalog.obj_description(oid, 'pg_namespace') FROM pg_catalog.pg_namespace WHERE nspname = $1
            """
        case .views: "SELECT viewname FROM pg_catalog.pg_views WHERE schemaname = $1 ORDER BY viewname"
        }
    }
}
