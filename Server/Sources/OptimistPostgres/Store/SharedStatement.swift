// This source file is part of the Optimist open source project, under the MIT licence.

/// The statements about tables that do not belong to one account.
enum SharedStatement: String, PostgresStatement, CaseIterable {
    case epochs, addEpoch, life, schemas, otherSchema, addSchema, setting, keepSetting, raiseSetting
    case lockSetup, lockHealth, tryHousekeeping, tryReporting, tryDelivering, notify, settings, backend
    case addressOf, addAddress, dropAddress, accounts, accountsFrom, accountIDs
    case databaseSize, canSeeLog, logSize
    case addDeleted, receipts, isDeleted, unerased, setErased, expiredDeleted, forgetDeleted
    case addInvitation, holdsInvitation, spendInvitation, forgetInvitations
    case attempt, forgive, forgetAttempts

    var sql: String {
        switch self {
        case .epochs: "SELECT number, name, life FROM optimist_epochs ORDER BY number"
        case .addEpoch:
            """
            INSERT INTO optimist_epochs (number, name, life)
            SELECT coalesce(max(number), 0) + 1, $1, $2 FROM optimist_epochs
            """
        case .life:
            """
            SELECT (SELECT system_identifier::text FROM pg_control_system()),
                left(pg_walfile_name(pg_current_wal_lsn()), 8), 'optimist_epochs'::regclass::oid::bigint
            """
        case .schemas: "SELECT version, content FROM optimist_schemas WHERE id = $1 ORDER BY version DESC"
        case .otherSchema: "SELECT id FROM optimist_schemas LIMIT 1"
        case .addSchema:
            "INSERT INTO optimist_schemas (id, version, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
        case .setting: "SELECT value FROM optimist_settings WHERE name = $1"
        case .keepSetting:
            """
            INSERT INTO optimist_settings (name, value) VALUES ($1, $2)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """
        case .raiseSetting:
            """
            INSERT INTO optimist_settings AS s (name, value) VALUES ($1, $2)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE excluded.value::float8 > s.value::float8
            """
        case .lockSetup, .lockHealth, .tryHousekeeping, .tryReporting, .tryDelivering, .notify, .settings, .backend:
            aboutProcesses
        case .databaseSize, .canSeeLog, .logSize: aboutSize
        case .addressOf, .addAddress, .dropAddress, .accounts, .accountsFrom, .accountIDs: aboutAddresses
        case .addDeleted, .receipts, .isDeleted, .unerased, .setErased, .expiredDeleted, .forgetDeleted:
            aboutDeleted
        case .addInvitation, .holdsInvitation, .spendInvitation, .forgetInvitations: aboutInvitations
        case .attempt, .forgive, .forgetAttempts: aboutAttempts
        }
    }

    /// The statements about locks, notifications and connections. 7303284, the first number of the advisory locks, is
    /// "opt" in ASCII. The next numbers are for health reports and webhooks.
    private var aboutProcesses: String {
        switch self {
        case .lockSetup: "SELECT pg_advisory_xact_lock(7303284, 1)"
        case .lockHealth: "SELECT pg_advisory_xact_lock(7303285, hashtext($1))"
        case .tryHousekeeping: "SELECT pg_try_advisory_lock(7303284, 2)"
        case .tryReporting: "SELECT pg_try_advisory_lock(7303284, 3)"
        case .tryDelivering: "SELECT pg_try_advisory_lock(7303286, hashtext($1))"
        case .notify: "SELECT pg_notify('optimist', $1)"
        case .settings:
            """
            SELECT current_setting('server_encoding'), current_setting('synchronous_commit'), pg_is_in_recovery(),
                current_setting('transaction_read_only')
            """
        default: "SELECT pg_backend_pid()"
        }
    }

    /// Reading the log's size requires a privilege, such as the role `pg_monitor`, that a server does not need
    /// otherwise.
    private var aboutSize: String {
        switch self {
        case .databaseSize: "SELECT pg_database_size(current_database())"
        case .canSeeLog: "SELECT has_function_privilege('pg_ls_waldir()', 'EXECUTE')"
        default: "SELECT sum(size)::bigint FROM pg_ls_waldir()"
        }
    }

    private var aboutAddresses: String {
        switch self {
        case .addressOf: "SELECT account_id FROM optimist_addresses WHERE address = $1"
        case .addAddress: "INSERT INTO optimist_addresses (address, account_id) VALUES ($1, $2) ON CONFLICT DO NOTHING"
        case .dropAddress: "DELETE FROM optimist_addresses WHERE address = $1 AND account_id = $2"
        case .accounts: "SELECT account_id FROM optimist_addresses ORDER BY address"
        case .accountsFrom:
            """
            SELECT account_id FROM optimist_addresses WHERE address >= $1 AND address < $2 AND address > $3
            ORDER BY address LIMIT $4
            """
        default: "SELECT account_id FROM optimist_addresses WHERE account_id > $1 ORDER BY account_id LIMIT $2"
        }
    }

    private var aboutDeleted: String {
        switch self {
        case .addDeleted:
            """
            INSERT INTO optimist_deleted_accounts
                (account_id, deleted_at, is_erased, row_count, session_count, space_count)
            VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
            """
        case .receipts:
            """
            SELECT account_id, deleted_at, row_count, session_count, space_count, is_erased
            FROM optimist_deleted_accounts
            WHERE $1::text IS NULL OR account_id = $1 ORDER BY deleted_at, account_id
            """
        case .isDeleted: "SELECT EXISTS (SELECT 1 FROM optimist_deleted_accounts WHERE account_id = $1)"
        case .unerased: "SELECT account_id FROM optimist_deleted_accounts WHERE NOT is_erased"
        case .setErased: "UPDATE optimist_deleted_accounts SET is_erased = true WHERE account_id = $1"
        case .expiredDeleted:
            """
            SELECT account_id FROM optimist_deleted_accounts WHERE is_erased
            AND deleted_at < CASE WHEN account_id LIKE 's%' THEN $2::float8 ELSE $1::float8 END
            """
        default: "DELETE FROM optimist_deleted_accounts WHERE account_id = $1"
        }
    }

    private var aboutInvitations: String {
        switch self {
        case .addInvitation: "INSERT INTO optimist_invitations (hash, ends_at) VALUES ($1, $2) ON CONFLICT DO NOTHING"
        case .holdsInvitation: "SELECT EXISTS (SELECT 1 FROM optimist_invitations WHERE hash = $1 AND ends_at > $2)"
        case .spendInvitation: "DELETE FROM optimist_invitations WHERE hash = $1 AND ends_at > $2"
        default: "DELETE FROM optimist_invitations WHERE ends_at <= $1"
        }
    }

    /// A token bucket for each key: the number of attempts in it, and the time of the last update. All processes share
    /// it, and use the database's clock. The parameters of an attempt are the kind, the key, the burst, the interval in
    /// seconds, and the attempt's weight.
    private var aboutAttempts: String {
        switch self {
        case .attempt:
            """
            INSERT INTO optimist_attempts AS a (name, key, used, updated_at)
            VALUES ($1, $2, $5::float8, extract(epoch FROM clock_timestamp()))
            ON CONFLICT (name, key) DO UPDATE SET
                used = greatest(0, a.used - greatest(0, excluded.updated_at - a.updated_at) / $4::float8)
                    + CASE WHEN greatest(0, a.used - greatest(0, excluded.updated_at - a.updated_at) / $4::float8) <= $3::float8 - 1
                        THEN $5::float8 ELSE 0 END,
                updated_at = greatest(a.updated_at, excluded.updated_at),
                is_refused = greatest(0, a.used - greatest(0, excluded.updated_at - a.updated_at) / $4::float8) > $3::float8 - 1
            RETURNING used, is_refused
            """
        case .forgive: "DELETE FROM optimist_attempts WHERE name = $1 AND key = $2"
        default: "DELETE FROM optimist_attempts WHERE updated_at < extract(epoch FROM clock_timestamp()) - 86400"
        }
    }
}
