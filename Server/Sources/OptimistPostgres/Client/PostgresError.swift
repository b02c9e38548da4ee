// This source file is part of the Optimist open source project, under the MIT licence.

/// Why PostgreSQL did not do its part.
struct PostgresError: Error {
    enum Kind: Sendable, Equatable {
        /// No connection could be made.
        case unreachable
        /// The connection broke. A transaction whose commit had not been sent was not made.
        case lost
        /// The commit had been sent when the connection broke: whether the transaction was made is not known.
        case commitUnknown
        /// The server refused the statement, with this SQLSTATE.
        case refused(String)
        /// Every connection is in use, and as many requests wait as may.
        case exhausted
        /// Another process serves a later version of the schema.
        case outdated
    }

    var kind: Kind
    /// What the server or libpq says. It may quote rows, so it is shown to an operator and never to a client.
    var message: String

    init(_ kind: Kind, _ message: String = "") {
        self.kind = kind
        self.message = message
    }

    /// The SQLSTATE. Nil: the server did not refuse anything.
    var state: String? { if case .refused(let state) = kind { state } else { nil } }

    /// Whether the same transaction may succeed if it is run again at once: nothing of it was kept.
    ///
    /// > Source: PostgreSQL, "PostgreSQL Error Codes": 40 is a rollback, 57P0x an administrator's shutdown.
    var isTransient: Bool {
        switch kind {
        case .lost: true
        case .refused(let state): state.hasPrefix("40") || state.hasPrefix("57P0") || state == "25006"
        case .unreachable, .commitUnknown, .exhausted, .outdated: false
        }
    }

    /// Whether the connection is of no more use.
    var endsConnection: Bool {
        switch kind {
        case .lost, .commitUnknown, .unreachable: true
        // A standby, or a server that became one: the next connection may find the primary. A statement that is not there,
        // or is there already, was prepared on another connection.
        case .refused(let state):
            state.hasPrefix("57P0") || state == "25006" || state == "25P03" || state == "26000" || state == "42P05"
        case .exhausted, .outdated: false
        }
    }
}
