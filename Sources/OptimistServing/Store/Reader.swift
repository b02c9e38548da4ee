// This source file is part of the Optimist open source project, under the MIT licence.

/// The reader or writer of accounts. It decides which accounts a store opens.
@_spi(Internals) public enum Reader: Hashable, Sendable {
    /// A person, by the id of the person's own account. May open this account, and the spaces of which the person is a
    /// member.
    case person(String)
    /// The server's own housekeeping, and its operator. May open every account.
    case `operator`

    /// Nil for the operator.
    public var person: String? {
        switch self {
        case .person(let id): id
        case .operator: nil
        }
    }

    /// A name for the queues where readers take turns. No account's id begins with "@".
    public var turn: String { person ?? "@operator" }
}
