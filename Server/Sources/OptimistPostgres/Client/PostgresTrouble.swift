// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore
import OptimistServer

/// The messages for clients when the database fails.
extension PostgresError: StorageFailure {
    var detail: String {
        switch kind {
        case .unreachable, .lost: "The database cannot be reached at the moment. Nothing was stored. Try again later."
        case .commitUnknown:
            "The connection to the database broke during a commit. Try again: the write is not stored twice."
        case .slow: "The database was busy for too long. Nothing was stored. Try again later."
        case .exhausted: "Too many requests are waiting for the database. Nothing was stored. Try again later."
        case .outdated: "This server is being replaced by a later version. Nothing was stored. Try again."
        case .refused(let state):
            switch state.prefix(2) {
            case "53": "The database is out of space or has too many connections. Nothing was stored. Try again later."
            case "57", "55", "40": "The database was busy for too long. Nothing was stored. Try again later."
            case "25": "The database does not accept writes at the moment. Nothing was stored. Try again later."
            default: "The data cannot be reached at the moment."
            }
        }
    }

    /// Seconds until a retry makes sense: 30 if the database is short of space or connections, because an operator has
    /// to act.
    var retryAfterSeconds: Int { state?.hasPrefix("53") == true ? 30 : 1 }

    var code: (name: String, value: String) { ("postgres.code", state ?? "\(kind)") }
}

extension OptimistError.Code {
    /// The server cannot connect to the database, the database refuses the name or the password, or it failed in a way
    /// that no other code describes. The message quotes PostgreSQL. A retry may succeed.
    public static let databaseUnreachable = Self("databaseUnreachable")
    /// The database's configuration does not work for a server: it is a standby or read-only, its encoding is not
    /// UTF-8, the user lacks privileges, or it is behind a transaction pooler. The message says what to change.
    public static let databaseUnsuitable = Self("databaseUnsuitable")
}

extension OptimistError {
    /// Describes the trouble to an operator, and what to do. May quote the error's message.
    ///
    /// - Parameter place: The database's URL without its password.
    init(_ error: PostgresError, at place: String) {
        let code: Code
        let sentence: String
        switch (error.kind, error.state) {
        case (.unreachable, _) where error.message.contains("read-only") || error.message.contains("hot standby"),
            (_, "25006"?):
            code = .databaseUnsuitable
            sentence = """
                \(place) does not accept writes: it is a standby or read-only. Name the primary, or every host: \
                postgres://HOST1,HOST2/NAME.
                """
        case (.unreachable, _), (.lost, _):
            code = .databaseUnreachable
            sentence = "\(place) cannot be reached. PostgreSQL reported: \(error.message)"
        case (_, "42501"?), (_, "3F000"?):
            code = .databaseUnsuitable
            sentence = """
                The user of \(place) lacks a privilege. Let it create tables in the database, or make it the owner of \
                the existing ones. PostgreSQL reported: \(error.message)
                """
        case (_, "26000"?), (_, "42P05"?):
            code = .databaseUnsuitable
            sentence = Self.pooler(place)
        case (_, "53100"?):
            code = .diskTrouble
            sentence = "The disk of \(place) is full. Free some space, and start again."
        default:
            code = .databaseUnreachable
            sentence = "\(place) failed. PostgreSQL reported: \(error.message)"
        }
        self.init(code, sentence, cause: error)
    }

    static func pooler(_ place: String) -> String {
        """
        \(place) is a pooler that may use another connection for each transaction. Prepared statements and LISTEN \
        need a dedicated connection. Name the database itself, or set the pooler to session mode. The server already has a \
        pool.
        """
    }
}
