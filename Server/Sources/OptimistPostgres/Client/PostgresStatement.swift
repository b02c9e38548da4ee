// This source file is part of the Optimist open source project, under the MIT licence.

/// A statement that each connection prepares at its first use.
protocol PostgresStatement: Sendable {
    /// The name of the prepared statement. Statements with the same name must have the same text.
    var name: String { get }
    /// The text, with `$1`, `$2` and so on for the parameters.
    var sql: String { get }
}

extension PostgresStatement where Self: RawRepresentable<String> {
    var name: String { "\(Self.self).\(rawValue)" }
}

enum TransactionStatement: String, PostgresStatement, CaseIterable {
    case begin, beginSnapshot, commit, rollback

    var sql: String {
        switch self {
        case .begin: "BEGIN"
        case .beginSnapshot: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        case .commit: "COMMIT"
        case .rollback: "ROLLBACK"
        }
    }
}
