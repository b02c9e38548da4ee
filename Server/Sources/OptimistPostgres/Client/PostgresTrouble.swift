// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore
import OptimistServer

/// The sentences that a client receives when the database fails.
extension PostgresError: StorageFailure {
    var detail: String {
        switch kind {
        case .unreachable, .lost: "The database cannot be reached at this moment. Nothing was stored: try again later."
        case .commitUnknown:
            "The connection to the database broke in a commit. Try again: what was stored is not stored twice."
        case .slow: "The database was busy for too long. Nothing was stored: try again later."
        case .exhausted: "Too many requests wait for the database. Nothing was stored: try again later."
        case .outdated: "This server is being replaced by a later version. Nothing was stored: try again."
        case .refused(let state):
            switch state.prefix(2) {
            case "53": "The database has no room or too many connections. Nothing was stored: try again later."
            case "57", "55", "40": "The database was busy for too long. Nothing was stored: try again later."
            case "25": "The database takes no writes at this moment. Nothing was stored: try again later."
            default: "The data cannot be reached at this moment."
            }
        }
    }

    /// Seconds until a retry makes sense. If the database is short of room or connections, an operator has to act: 30.
    var retryAfterSeconds: Int { state?.hasPrefix("53") == true ? 30 : 1 }

    var code: (name: String, value: String) { ("postgres.code", state ?? "\(kind)") }
}

extension OptimistError.Code {
    /// There is no connection to the database, it refuses the name or the password, or it failed in a way that no other code
    /// describes. The message quotes PostgreSQL. Trying again may help.
    public static let databaseUnreachable = Self("databaseUnreachable")
    /// The database cannot serve as it is set up: it is a standby or read-only, its encoding is not UTF-8, the user lacks
    /// rights, or it is behind a transaction pooler. The message says what to change.
    public static let databaseUnsuitable = Self("databaseUnsuitable")
}

extension OptimistError {
    /// Tells an operator about the trouble with the database, and what to do.
    ///
    /// - Parameters:
    ///   - error: The error. Its message may be quoted.
    ///   - place: The database's URL without its password.
    init(_ error: PostgresError, at place: String) {
        let code: Code
        let sentence: String
        switch (error.kind, error.state) {
        case (.unreachable, _) where error.message.contains("read-only") || error.message.contains("hot standby"),
            (_, "25006"?):
            code = .databaseUnsuitable
            sentence = """
                \(place) takes no writes: it is a standby or read-only. Name the primary, or every host: \
                postgres://HOST1,HOST2/NAME.
                """
        case (.unreachable, _), (.lost, _):
            code = .databaseUnreachable
            sentence = "\(place) cannot be reached. PostgreSQL says: \(error.message)"
        case (_, "42501"?), (_, "3F000"?):
            code = .databaseUnsuitable
            sentence = """
                The user of \(place) lacks a right. Let it create tables in the database, or make it the owner of those that \
                are there. PostgreSQL says: \(error.message)
                """
        case (_, "26000"?), (_, "42P05"?):
            code = .databaseUnsuitable
            sentence = Self.pooler(place)
        case (_, "53100"?):
            code = .diskTrouble
            sentence = "The disk of \(place) is full. Make room, and start again."
        default:
            code = .databaseUnreachable
            sentence = "\(place) failed. PostgreSQL says: \(error.message)"
        }
        self.init(code, sentence, cause: error)
    }

    static func pooler(_ place: String) -> String {
        """
        \(place) is a pooler that gives each transaction another connection. Prepared statements and LISTEN need a connection \
        of their own: name the database itself, or set the pooler to session mode. The server has a small pool already.
        """
    }
}
