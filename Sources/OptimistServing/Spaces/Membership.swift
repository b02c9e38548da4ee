// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

/// The rights of a member of a space.
@_spi(Internals) public enum Role: String, Hashable, Sendable, Comparable {
    case owner, writer, reader

    /// A role with fewer rights is lower.
    public static func < (a: Role, b: Role) -> Bool { a.rank < b.rank }

    private var rank: Int {
        switch self {
        case .owner: 2
        case .writer: 1
        case .reader: 0
        }
    }

    /// Reads a role. A later version may know more roles, so an unknown role counts as reader.
    public init(text: String?) { self = text.flatMap(Role.init(rawValue:)) ?? .reader }
}

/// Why and when a person's access to a space ended.
@_spi(Internals) public struct AccessEnd: Hashable, Sendable {
    public enum Reason: String, Sendable {
        /// An owner removed the person.
        case removed
        /// The person left.
        case left
        /// The last members left together, which deletes the space.
        case deleted
    }

    public var reason: Reason
    /// The transaction of the space that ended the access.
    public var seq: Int64

    public init(reason: Reason, seq: Int64) {
        self.reason = reason
        self.seq = seq
    }
}

/// A person's membership in a space, as recorded in the index of the space's member rows.
@_spi(Internals) public struct Membership: Hashable, Sendable {
    public var person: String
    /// The id of the member row.
    public var memberID: String
    public var role: Role
    /// The transaction that made the person a member.
    public var joinedSeq: Int64
    /// Nil: the person is a member.
    public var end: AccessEnd?

    public init(person: String, memberID: String, role: Role, joinedSeq: Int64, end: AccessEnd? = nil) {
        self.person = person
        self.memberID = memberID
        self.role = role
        self.joinedSeq = joinedSeq
        self.end = end
    }

    /// Makes a membership from the values that a store keeps.
    public init(
        person: String, memberID: String, role: String, joinedSeq: Int64, endedSeq: Int64?, reason: String?
    ) {
        let end = endedSeq.map { seq in
            AccessEnd(reason: reason.flatMap(AccessEnd.Reason.init(rawValue:)) ?? .removed, seq: seq)
        }
        self.init(person: person, memberID: memberID, role: Role(text: role), joinedSeq: joinedSeq, end: end)
    }
}

/// The effect of a member row on the index of members.
@_spi(Internals) public struct MembershipChange: Hashable, Sendable {
    public var person: String
    public var memberID: String
    public var role: Role
    /// Nil: the person is a member, or becomes a member.
    public var end: AccessEnd.Reason?

    /// The person's membership after the transaction `seq`. Only the member row that made the person a member can end
    /// the membership.
    func applied(to former: Membership?, seq: Int64) -> Membership? {
        let present = former.flatMap { $0.end == nil ? $0 : nil }
        guard let end else {
            return Membership(
                person: person, memberID: memberID, role: role, joinedSeq: present?.joinedSeq ?? seq)
        }
        guard var present, present.memberID == memberID else { return former }
        present.end = AccessEnd(reason: end, seq: seq)
        return present
    }
}

/// A reader's right to an account.
@_spi(Internals) public enum Access: Hashable, Sendable {
    /// A person's own account.
    case own
    /// A space that does not exist before this transaction.
    case founding
    /// A space that the person may join with this invitation, by a member row in this transaction.
    case joining(Invitation)
    /// A space that the person wants to join without a valid ticket, or that does not exist. It looks empty.
    case uninvited
    /// A space in which the person is a member.
    case member(Membership)
    /// A public space in which the person is not a member.
    case visitor
    /// An account that the reader's service key allows.
    case service(Role)
    /// Any account.
    case `operator`

    public var role: Role {
        switch self {
        case .own, .founding, .operator: .owner
        case .joining(let invitation): invitation.role
        case .uninvited, .visitor: .reader
        case .service(let role): role
        case .member(let membership): membership.role
        }
    }

    public var membership: Membership? {
        switch self {
        case .member(let membership): membership
        case .own, .founding, .joining, .uninvited, .visitor, .service, .operator: nil
        }
    }

    /// Whether the transaction must make the person a member before anything else can be in the account.
    var isEntering: Bool {
        switch self {
        case .founding, .joining, .uninvited: true
        case .own, .member, .visitor, .service, .operator: false
        }
    }

    var isJoining: Bool { if case .joining = self { true } else { false } }

    /// Whether the person may read. With a ticket, a person may read only after joining, when the
    /// other members see the person.
    var mayRead: Bool {
        switch self {
        case .joining, .uninvited: false
        case .own, .founding, .member, .visitor, .service, .operator: true
        }
    }

    /// Returns nil if the reader may not open the account.
    ///
    /// - Parameters:
    ///   - membership: The reader's membership in the account, if there ever was one.
    ///   - kind: The account's kind.
    public init?(of reader: Reader, to account: String, _ membership: Membership?, _ kind: AccountKind) {
        switch reader {
        case .operator: self = .operator
        case .service(let service):
            guard service.mayOpen(account) else { return nil }
            self = .service(service.role)
        case .person(account): self = .own
        case .person:
            if let membership, membership.end == nil {
                self = .member(membership)
            } else if kind == .publicSpace {
                self = .visitor
            } else {
                return nil
            }
        case .guest: return nil
        }
    }

    /// The access after a transaction, for the rest of the request.
    public mutating func follow(_ change: MembershipChange, as reader: Reader, seq: Int64) {
        guard change.person == reader.person, var after = change.applied(to: membership, seq: seq) else { return }
        // A person who left may not write in a later call of the same request.
        if after.end != nil { after.role = .reader }
        self = .member(after)
    }
}

/// The accounts that a reader asked for. An account that does not exist, or that the reader may not open, is in neither
/// dictionary.
@_spi(Internals) public struct OpenAccounts<Account> {
    public var open: [String: Account]
    /// The spaces whose former members include the reader.
    public var ended: [String: AccessEnd]
    /// The reader's spaces, if a request may enter one. Otherwise nil.
    public var spaces: SpaceCount?

    public init(open: [String: Account] = [:], ended: [String: AccessEnd] = [:], spaces: SpaceCount? = nil) {
        self.open = open
        self.ended = ended
        self.spaces = spaces
    }

    /// Adds an account, if the reader may open it.
    public mutating func add(
        _ state: SyncState, of account: String, for reader: Reader, _ membership: Membership?, _ kind: AccountKind
    ) where Account == AccountState {
        ended[account] = membership?.end
        guard let access = Access(of: reader, to: account, membership, kind) else { return }
        open[account] = AccountState(state: state, access: access)
    }

    public func mapped<Other>(_ transform: (Account) -> Other) -> OpenAccounts<Other> {
        OpenAccounts<Other>(open: open.mapValues(transform), ended: ended, spaces: spaces)
    }
}

extension OpenAccounts: Sendable where Account: Sendable {}
