// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistServer

/// The tables and their version.
///
/// Every table with an account's data has a key that begins with the account's id, so that the tables can be sharded by
/// account. Only the primary key of the rows begins with account and type: while a table is new, PostgreSQL does not
/// know its size, and might otherwise look up a row by another index with the same prefix. Keys are compared by their
/// bytes, as in the embedded store.
enum PostgresTables {
    /// Each script migrates from one version to the next. A released step never changes.
    private static let steps: [String] = []
    /// The version of the tables below. The server refuses a database of a later version, without changing it.
    static let version = steps.count + 1

    static let ofAccounts = [
        "optimist_accounts", "optimist_account_epochs", "optimist_account_days", "optimist_sessions", "optimist_resets",
        "optimist_pushes", "optimist_members", "optimist_audit", "optimist_rows", "optimist_index",
    ]
    static let shared = [
        "optimist_settings", "optimist_epochs", "optimist_schemas", "optimist_addresses", "optimist_deleted_accounts",
        "optimist_invitations", "optimist_identities", "optimist_spent_tokens", "optimist_attempts",
        "optimist_health_totals", "optimist_health_signatures",
        "optimist_health_signature_totals", "optimist_health_days",
    ]

    /// Makes the tables if there are none, or migrates those of an earlier version.
    ///
    /// If several processes start at the same time, one of them makes the tables, and the others wait. A process throws
    /// if it waits longer than its connection's lock timeout.
    ///
    /// - Throws: `OptimistError` with code `newerData` or `unreadableData`, or ``PostgresError``. The tables are then
    ///   unchanged.
    static func migrate(_ connection: PostgresConnection, steps: [String] = Self.steps) throws {
        let version = steps.count + 1
        if try found(connection) == version { return }
        try connection.transaction { connection in
            _ = try connection.query(SharedStatement.lockSetup)
            switch try found(connection) {
            case version: break
            case nil: try connection.script(script)
            case let earlier? where earlier > 0 && earlier < version:
                try connection.script(steps.dropFirst(earlier - 1).joined(separator: "\n"))
            case let other?: throw newerData(other)
            }
            _ = try connection.query(SharedStatement.keepSetting, [.text("version"), .text("\(version)")])
        }
    }

    private static func newerData(_ found: Int) -> OptimistError {
        OptimistError(
            .newerData,
            """
            The database was written by a later version of the server (\(found), this one knows \(version)). Start the later \
            version, or name another database. Nothing has been changed.
            """, remedy: .update)
    }

    /// - Throws: `OptimistError` with code `unreadableData` or `newerData` if there are no tables of the current
    ///   version. The message says what to do.
    static func requirePresent(_ connection: PostgresConnection, in place: String) throws {
        switch try found(connection) {
        case version: return
        case nil: throw OptimistError(.unreadableData, "\(place) does not contain the data of a server.")
        case let earlier? where earlier < version:
            throw OptimistError(
                .unreadableData,
                """
                The tables in \(place) have an earlier version (\(earlier)) than this server (\(version)). Start this \
                server on them, or migrate them with `optimist serve --migrate-only`. Nothing has been changed.
                """)
        case let other?: throw newerData(other)
        }
    }

    /// The version of the existing tables. Nil: there are none.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` if another program made `optimist_settings`.
    static func found(_ connection: PostgresConnection) throws -> Int? {
        if try !connection.query(TableStatement.exists).bool(0, 0) { return nil }
        if let version = try version(connection) { return version }
        throw OptimistError(
            .unreadableData,
            """
            The database has a table "optimist_settings" that this server did not write. Name another database, or another \
            schema with ?options=-csearch_path%3DNAME. The table was not changed.
            """)
    }

    private static func version(_ connection: PostgresConnection) throws -> Int? {
        let rows: PostgresRows
        do { rows = try connection.query(SharedStatement.setting, [.text("version")]) } catch {
            // Another program's table has other columns. The error 42501 is thrown, because it means that the user may
            // not read the table.
            if error.state?.hasPrefix("42") == true, error.state != "42501" { return nil }
            throw error
        }
        return rows.count == 1 ? Int(rows.text(0, 0)) : nil
    }

    static let script = """
        CREATE TABLE optimist_settings (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
        CREATE TABLE optimist_epochs (number bigint PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, life text);
        CREATE TABLE optimist_schemas (
            id text COLLATE "C" NOT NULL, version bigint NOT NULL, content text NOT NULL, PRIMARY KEY (id, version));
        CREATE TABLE optimist_addresses (
            address text COLLATE "C" PRIMARY KEY, account_id text COLLATE "C" NOT NULL);
        CREATE INDEX optimist_addresses_by_account ON optimist_addresses (account_id);
        CREATE TABLE optimist_deleted_accounts (
            account_id text COLLATE "C" PRIMARY KEY, deleted_at float8 NOT NULL, is_erased boolean NOT NULL,
            row_count bigint NOT NULL, session_count bigint NOT NULL, space_count bigint NOT NULL);
        CREATE TABLE optimist_invitations (hash bytea PRIMARY KEY, ends_at float8 NOT NULL);
        CREATE TABLE optimist_identities (
            issuer text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL, account_id text COLLATE "C" NOT NULL,
            linked_at float8 NOT NULL, PRIMARY KEY (issuer, subject));
        CREATE INDEX optimist_identities_by_account ON optimist_identities (account_id);
        CREATE TABLE optimist_spent_tokens (hash bytea PRIMARY KEY, ends_at float8 NOT NULL);
        CREATE TABLE optimist_attempts (
            name text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, used float8 NOT NULL,
            updated_at float8 NOT NULL, is_refused boolean NOT NULL DEFAULT false, PRIMARY KEY (name, key));
        CREATE TABLE optimist_accounts (
            account_id text COLLATE "C" PRIMARY KEY, kind text NOT NULL DEFAULT 'person', email text,
            password text NOT NULL, created_at text NOT NULL, seq bigint NOT NULL DEFAULT 0, epoch text COLLATE "C",
            floor bigint NOT NULL DEFAULT 0, day bigint, schema_version bigint NOT NULL DEFAULT 0,
            reported bigint NOT NULL DEFAULT 0, row_count bigint NOT NULL DEFAULT 0) WITH (fillfactor = 70);
        CREATE TABLE optimist_account_epochs (
            account_id text COLLATE "C" NOT NULL, epoch text COLLATE "C" NOT NULL, first_seq bigint NOT NULL,
            PRIMARY KEY (account_id, epoch));
        CREATE TABLE optimist_account_days (
            account_id text COLLATE "C" NOT NULL, day bigint NOT NULL, first_seq bigint NOT NULL,
            PRIMARY KEY (account_id, day));
        CREATE TABLE optimist_sessions (
            account_id text COLLATE "C" NOT NULL, session_id text COLLATE "C" NOT NULL, device_id text NOT NULL,
            device_name text NOT NULL, salt bytea NOT NULL, generation bigint NOT NULL, confirmed bigint NOT NULL,
            refreshed_at float8 NOT NULL, ended text, begun_at float8, PRIMARY KEY (account_id, session_id));
        CREATE TABLE optimist_resets (
            account_id text COLLATE "C" NOT NULL, hash bytea NOT NULL, ends_at float8 NOT NULL,
            PRIMARY KEY (account_id, hash));
        CREATE TABLE optimist_pushes (
            account_id text COLLATE "C" NOT NULL, person_id text COLLATE "C" NOT NULL, device text COLLATE "C" NOT NULL,
            number bigint NOT NULL, day bigint NOT NULL,
            PRIMARY KEY (account_id, person_id, device)) WITH (fillfactor = 70);
        CREATE TABLE optimist_members (
            account_id text COLLATE "C" NOT NULL, person_id text COLLATE "C" NOT NULL, member_id text COLLATE "C" NOT NULL,
            role text NOT NULL, joined_seq bigint NOT NULL, ended_seq bigint, reason text,
            PRIMARY KEY (account_id, person_id));
        CREATE INDEX optimist_members_by_person ON optimist_members (person_id);
        CREATE TABLE optimist_audit (
            account_id text COLLATE "C" NOT NULL, seq bigint NOT NULL, ordinal bigint NOT NULL, at bigint NOT NULL,
            what text NOT NULL, person_id text COLLATE "C", device text COLLATE "C", subject text, detail text,
            PRIMARY KEY (account_id, seq, ordinal));
        CREATE TABLE optimist_rows (
            account_id text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
            generation bigint NOT NULL, seq bigint NOT NULL, ordinal bigint NOT NULL, born_seq bigint NOT NULL,
            content text NOT NULL, hidden text, PRIMARY KEY (account_id, type, id));
        CREATE INDEX optimist_rows_in_order ON optimist_rows (account_id, seq, ordinal, type);
        CREATE INDEX optimist_rows_deleted ON optimist_rows (account_id, seq) WHERE generation % 2 = 0;
        CREATE TABLE optimist_index (
            account_id text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
            key text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (account_id, type, name, key, id));
        CREATE TABLE optimist_health_totals (
            app text COLLATE "C" NOT NULL, day bigint NOT NULL, version text COLLATE "C" NOT NULL,
            build text COLLATE "C" NOT NULL, install text COLLATE "C" NOT NULL, launches bigint NOT NULL,
            abrupt_ends bigint NOT NULL, unsent_ends bigint NOT NULL, crashes bigint NOT NULL, hangs bigint NOT NULL,
            PRIMARY KEY (app, day, version, build, install));
        CREATE TABLE optimist_health_signatures (
            app text COLLATE "C" NOT NULL, signature text COLLATE "C" NOT NULL, content text NOT NULL,
            last_day bigint NOT NULL, PRIMARY KEY (app, signature));
        CREATE TABLE optimist_health_signature_totals (
            app text COLLATE "C" NOT NULL, day bigint NOT NULL, version text COLLATE "C" NOT NULL,
            build text COLLATE "C" NOT NULL, install text COLLATE "C" NOT NULL, signature text COLLATE "C" NOT NULL,
            count bigint NOT NULL, unsent bigint NOT NULL,
            PRIMARY KEY (app, day, version, build, install, signature));
        CREATE TABLE optimist_health_days (
            app text COLLATE "C" NOT NULL, day bigint NOT NULL, totals bigint NOT NULL, PRIMARY KEY (app, day));
        """
}

private enum TableStatement: String, PostgresStatement, CaseIterable {
    case exists

    /// Reads the catalogue instead of calling `to_regclass`. While this process waits for the lock, another process may
    /// make the table, and `to_regclass` may still find in the connection's cache that the table is missing.
    var sql: String {
        """
        SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c
            WHERE c.relname = 'optimist_settings' AND c.relnamespace = (SELECT oid FROM pg_catalog.pg_namespace
                WHERE nspname = current_schema()))
        """
    }
}
