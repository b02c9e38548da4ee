// This source file is part of the Optimist open source project, under the MIT licence.

/// A statement that each connection prepares at its first use.
protocol PostgresStatement: Sendable {
    /// Statements with the same name must have the same text.
    var name: String { get }
    /// Parameters are `$1`, `$2` and so on.
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
