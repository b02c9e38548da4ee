// This source file is part of the Optimist open source project, under the MIT licence.

struct PostgresError: Error {
    enum Kind: Sendable, Equatable {
        case unreachable
        /// The connection broke before a commit was sent, or the server answered a commit with a rollback. The
        /// transaction was not stored.
        case lost
        /// The connection broke after the commit was sent. The transaction may or may not have been committed.
        case commitUnknown
        /// The SQLSTATE of the server's error.
        case refused(String)
        /// The server did not answer in time. It may still be running the statement, but will not keep its effects.
        case slow
        case exhausted
        /// Another process has served the account with a later version of the schema.
        case outdated
    }

    var kind: Kind
    /// The message of the server or of libpq. It may quote rows, so it is shown to operators but never to clients.
    var message: String

    init(_ kind: Kind, _ message: String = "") {
        self.kind = kind
        self.message = message
    }

    var state: String? { if case .refused(let state) = kind { state } else { nil } }

    /// Whether the pool retries the transaction immediately: it was not stored, and may succeed the next time.
    ///
    /// > Source: PostgreSQL, "PostgreSQL Error Codes": 40 is a rollback, 57P0x an administrator's shutdown, 25006 a
    /// > standby.
    var isTransient: Bool {
        switch kind {
        case .lost: true
        case .refused("40003"): false
        case .refused(let state): state.hasPrefix("40") || state.hasPrefix("57P0") || state == "25006"
        case .unreachable, .commitUnknown, .slow, .exhausted, .outdated: false
        }
    }

    var endsConnection: Bool {
        switch kind {
        case .lost, .commitUnknown, .slow, .unreachable: true
        // 57P0x and 25006: the server is shutting down or is a standby, and the next connection may find the primary.
        // 25P03: the server has closed the connection. 26000 and 42P05: a pooler has switched to a connection that
        // lacks the prepared statement, or that already has it.
        case .refused(let state):
            state.hasPrefix("57P0") || state == "25006" || state == "25P03" || state == "26000" || state == "42P05"
        case .exhausted, .outdated: false
        }
    }
}
