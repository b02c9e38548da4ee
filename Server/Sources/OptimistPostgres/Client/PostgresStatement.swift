// This source file is part of the Optimist open source project, under the MIT licence.

/// A statement that connections prepare at its first use.
protocol PostgresStatement: Sendable {
    /// The name under which a connection prepares the statement.
    var name: String { get }
    var sql: String { get }
}

extension PostgresStatement where Self: RawRepresentable<String> {
    var name: String { "\(Self.self).\(rawValue)" }
}

/// The statements around a transaction.
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
