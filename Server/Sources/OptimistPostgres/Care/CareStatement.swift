// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer

/// The statements of backups and checks, which span all accounts.
enum CareStatement: String, PostgresStatement, CaseIterable {
    case place, tables, exportSnapshot, hasAmcheck, latestSchema, schemaVersion, rows, entries, actors

    var sql: String {
        switch self {
        case .place: "SELECT current_schema(), current_setting('server_version_num')::int / 10000"
        case .tables:
            """
            SELECT relname FROM pg_catalog.pg_class WHERE relkind = 'r' AND relnamespace = (
                SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema())
            """
        case .exportSnapshot: "SELECT pg_export_snapshot()"
        case .hasAmcheck: "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'amcheck')"
        case .latestSchema: "SELECT version, content FROM optimist_schemas ORDER BY version DESC LIMIT 1"
        case .schemaVersion: "SELECT schema_version FROM optimist_accounts WHERE account_id = $1"
        case .actors:
            """
            SELECT 'trigger', t.tgname::text FROM pg_catalog.pg_trigger t
            JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE NOT t.tgisinternal AND n.nspname = current_schema() AND c.relname LIKE 'optimist\\_%'
            UNION ALL SELECT 'rule', rulename::text FROM pg_catalog.pg_rules
            WHERE schemaname = current_schema() AND tablename LIKE 'optimist\\_%' ORDER BY 1, 2
            """
        case .rows:
            """
            SELECT account_id, type, id, generation, content, hidden FROM optimist_rows
            WHERE (account_id, type, id) > ($1, $2, $3) ORDER BY account_id, type, id LIMIT $4
            """
        case .entries: "SELECT id, name, key FROM optimist_index WHERE account_id = $1 AND type = $2"
        }
    }
}

/// A check's query, or the row count of a table.
struct CareQuery: PostgresStatement {
    var name: String
    var sql: String

    init(_ query: CheckedQuery) {
        name = "CareQuery.\(query.name)"
        sql = query.sql
    }

    init(counting table: String) {
        name = "CareQuery.count.\(table)"
        sql = "SELECT count(*) FROM \(table)"
    }
}
