// This source file is part of the Optimist open source project, under the MIT licence.

/// The reader or writer of accounts. It decides which accounts a store opens.
@_spi(Internals) public enum Reader: Hashable, Sendable {
    /// A person, by the id of the person's own account. May open this account, and the spaces of which the person is a
    /// member.
    case person(String)
    /// A client that has not signed in. May open a space with a ticket, to see the ticket's invitation.
    case guest
    /// A program with a service key. May open the accounts that the key allows.
    case service(ServiceReader)
    /// The server's own housekeeping, and its operator. May open every account.
    case `operator`

    /// Nil for a program, the operator and a guest.
    public var person: String? {
        switch self {
        case .person(let id): id
        case .guest, .service, .operator: nil
        }
    }

    /// The person in a store's statements. Nil lets the statement find every account, before ``Access`` decides. A
    /// guest has the empty text, which is not the id of a person.
    public var key: String? {
        switch self {
        case .person(let id): id
        case .guest: ""
        case .service, .operator: nil
        }
    }

    /// The device in the clocks of writes without clocks.
    var device: String {
        if case .service(let service) = self { service.device } else { ServerClock.device }
    }

    /// A name for the queues where readers take turns. No account's id begins with "@".
    public var turn: String {
        switch self {
        case .person(let id): id
        case .guest: "@guest"
        case .service(let service): "@key.\(service.key)"
        case .operator: "@operator"
        }
    }
}
