// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// An entry in the audit of a space, which shows its operator who changed the members. It has ids, but no names and no
/// texts.
@_spi(Internals) public struct SpaceEvent: Hashable, Sendable {
    public enum Kind: String, CaseIterable, Sendable {
        /// The subject is the first owner.
        case founded
        /// The subject is the invitation, and the detail its role.
        case invited, changedInvitation
        /// The subject is the invitation.
        case revoked
        /// A person with a ticket became a member. The subject is the invitation.
        case joined
        /// The operator made a person a member. The subject is the person, and the detail the role.
        case admitted
        /// The subject is the person, and the detail the new role.
        case role
        /// The subject is the person.
        case removed, left
        /// Rows arrived from another account, or left to it. The subject is that account, and the detail the number of
        /// rows.
        case movedIn, movedOut
        /// The last members left, or the operator deleted the space.
        case ended
        /// The space's rules refused a member's rows. The detail is the error's code. The same refusal of a person is noted
        /// once a day, so that a member cannot push other events out of the audit.
        case refused
    }

    /// The raw value of a ``Kind``. A later version may know more kinds.
    public var what: String
    /// The person who sent the change. Nil: the operator, or the server after a person's account was deleted.
    public var person: String?
    /// The device that sent it. Nil: a request without a push number.
    public var device: String?
    public var subject: String?
    public var detail: String?
    /// In milliseconds since 1970, by the server's clock.
    public var milliseconds: Int64

    public init(
        what: String, person: String?, device: String?, subject: String?, detail: String?, milliseconds: Int64
    ) {
        self.what = what
        self.person = person
        self.device = device
        self.subject = subject
        self.detail = detail
        self.milliseconds = milliseconds
    }

    /// Whether an earlier event makes this one needless: it is the same refusal of a person within a day.
    func repeats(_ earlier: SpaceEvent) -> Bool {
        what == Kind.refused.rawValue && earlier.what == what && earlier.person == person && earlier.detail == detail
            && earlier.milliseconds > milliseconds - Self.dayMilliseconds
    }

    private static let dayMilliseconds: Int64 = 86_400_000
    /// How many of the latest events a new refusal is compared with, so that a refused push is little work.
    public static let compared = 100

    /// The most events of a space that the server keeps. It removes the oldest of more.
    public static let limit = 10_000
    /// For how many days the server keeps an event.
    public static let days = 400
}

@_spi(Internals) extension [SpaceEvent] {
    /// The events that the audit does not have yet.
    ///
    /// - Parameter latest: The latest events of the audit, ``SpaceEvent/compared`` of them.
    public func new(to latest: some Sequence<SpaceEvent>) -> [SpaceEvent] {
        filter { event in !latest.contains(where: event.repeats) }
    }
}

/// Derives the events of one transaction in a space from its changed rows.
struct SpaceEvents {
    var types = SpaceTypes()
    /// Nil: the operator, or the server.
    var person: String?
    var device: String?
    var access: Access
    var milliseconds: Int64
    private(set) var all: [SpaceEvent] = []

    init(types: SpaceTypes, person: String?, device: String?, access: Access, milliseconds: Int64) {
        self.types = types
        self.person = person
        self.device = device
        self.access = access
        self.milliseconds = milliseconds
    }

    /// - Parameter former: The row before the transaction.
    mutating func add(_ change: RowChange, former: MergeRow?) {
        if let membership = change.membership { add(membership, former: former) }
        if change.key.type == types.invitation { add(invitation: change.key.id, change.row, former: former) }
    }

    /// - Parameters:
    ///   - rows: How many rows moved.
    ///   - account: The other account.
    mutating func addMove(_ kind: SpaceEvent.Kind, of rows: Int, _ account: String) {
        add(kind, account, "\(rows)")
    }

    /// - Parameter code: The code of the error. Only codes of the space's rules are events.
    mutating func add(refusal code: String) {
        guard access.membership != nil, Self.refusals.contains(code) else { return }
        let isKnown = all.contains { $0.what == SpaceEvent.Kind.refused.rawValue && $0.detail == code }
        if !isKnown { add(.refused, nil, code) }
    }

    private static let refusals: Set = ["roleForbids", "lastOwner", "overQuota", "spaceLimit"]

    private mutating func add(_ membership: MembershipChange, former: MergeRow?) {
        let isNew = former?.isAlive != true
        switch membership.end {
        case .deleted: if !all.contains(where: { $0.what == SpaceEvent.Kind.ended.rawValue }) { add(.ended, nil) }
        case .removed: add(.removed, membership.person)
        case .left: add(.left, membership.person)
        case nil where isNew: addNew(membership)
        case nil where former?.role != membership.role: add(.role, membership.person, membership.role.rawValue)
        case nil: break
        }
    }

    private mutating func addNew(_ membership: MembershipChange) {
        switch access {
        case .founding: add(.founded, membership.person)
        case .joining(let invitation): add(.joined, invitation.key.id, membership.role.rawValue)
        default: add(.admitted, membership.person, membership.role.rawValue)
        }
    }

    private mutating func add(invitation id: String, _ row: MergeRow, former: MergeRow?) {
        let role = row.role.rawValue
        switch (former?.isAlive == true, row.isAlive) {
        case (false, true): add(.invited, id, role)
        case (true, false): add(.revoked, id)
        case (true, true):
            let columns = [SpaceTypes.role, SpaceTypes.uses, SpaceTypes.endsAt, "hash"]
            if columns.contains(where: { row.cells[$0]?.value != former?.cells[$0]?.value }) {
                add(.changedInvitation, id, role)
            }
        case (false, false): break
        }
    }

    private mutating func add(_ kind: SpaceEvent.Kind, _ subject: String?, _ detail: String? = nil) {
        all.append(
            SpaceEvent(
                what: kind.rawValue, person: person, device: device, subject: subject, detail: detail,
                milliseconds: milliseconds))
    }
}

extension SetEvaluation {
    /// The events in one account. None unless it is a space.
    func events(in place: Int) throws -> [SpaceEvent] {
        let book = books[place]
        guard rules.areNeeded, SpaceAccount.space(of: book.account) != nil else { return [] }
        var events = SpaceEvents(
            types: context.spaceTypes, person: context.person, device: context.device, access: book.access,
            milliseconds: clock.milliseconds)
        for change in changes[place] { events.add(change, former: try book.reader.row(change.key)?.row) }
        for (other, count) in moves(where: { $0.book == place ? $0.source : nil }) {
            events.addMove(.movedIn, of: count, other)
        }
        for (other, count) in moves(where: { $0.source == place ? $0.book : nil }) {
            events.addMove(.movedOut, of: count, other)
        }
        for (operation, verdict) in zip(operations, verdicts) where placeThatRefuses(operation) == place {
            if case .refused(let error) = verdict { events.add(refusal: error.type) }
        }
        return events.all
    }

    /// A move from a space that the sender may only read is refused there, and any other row in its destination.
    private func placeThatRefuses(_ operation: RowOperation) -> Int {
        guard let source = operation.source, books[source].access.role == .reader else { return operation.book }
        return source
    }

    /// How many rows moved, by the other account, in the order of the accounts.
    private func moves(where other: (RowOperation) -> Int?) -> [(account: String, count: Int)] {
        let others = departures.keys.compactMap { other(operations[$0]) }
        return Dictionary(grouping: others) { $0 }.sorted { $0.key < $1.key }.map {
            (books[$0.key].account, $0.value.count)
        }
    }
}
