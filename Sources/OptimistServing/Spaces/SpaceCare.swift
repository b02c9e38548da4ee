// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
@_spi(Internals) public import OptimistWire

/// The changes of spaces that the server makes without a member's push: for its operator, and after a person's account
/// was deleted. Each is one transaction under the space's lock.
///
/// Every function throws the store's error, and ``StoreError/noAccount``.
@_spi(Internals) public struct SpaceCare: Sendable {
    private let store: any SyncStore
    private let types: SpaceTypes
    private let now: @Sendable () -> Date

    public init(store: any SyncStore, types: SpaceTypes = SpaceTypes(), now: @escaping @Sendable () -> Date) {
        self.store = store
        self.types = types
        self.now = now
    }

    /// The type of the rows that it changes.
    public var type: String { types.member }

    /// A space as its operator sees it.
    public struct Summary: Sendable {
        public var account: String
        public var kind: AccountKind
        public var seq: Int64
        /// Living rows.
        public var rows: Int
        public var members: [Membership]
    }

    public func summary(of account: String) async throws -> Summary {
        try await store.read(account: account, as: .operator) { found in
            Summary(
                account: found.account, kind: found.kind, seq: found.seq, rows: found.rowCount,
                members: try found.members())
        }
    }

    /// The accounts of spaces, in order.
    public func spaces() async throws -> [String] {
        var (all, last): ([String], String?) = ([], nil)
        while true {
            let page = try await store.accounts(after: last, limit: 500)
            all += page.filter { SpaceAccount.space(of: $0) != nil }
            guard let next = page.last else { return all }
            last = next
        }
    }

    /// The effects of a change.
    public struct Change: Hashable, Sendable {
        /// The state of the space afterwards.
        public var state: SyncState
        /// The events that it added to the audit.
        public var events: [SpaceEvent]
    }

    /// Makes a space with one owner.
    ///
    /// - Parameters:
    ///   - row: The id of the owner's member row.
    ///   - name: The owner's name in the space.
    /// - Returns: Nil if an account has this id.
    public func create(
        _ account: String, _ kind: AccountKind, owner: String, row: String, name: String = ""
    ) async throws -> Change? {
        let clock = clock
        return try await store.write(
            accounts: [account], as: .operator, entering: Entrances(founding: [account], kind)
        ) { accounts in
            guard let made = accounts.open[account], made.access == .founding else { return nil }
            return try join(made, owner, row: row, name: name, clock)
        }
    }

    /// Makes a person an owner, even if the person is not a member yet.
    public func makeOwner(_ person: String, of account: String, row: String) async throws -> Change {
        let clock = clock
        return try await store.write(account: account, as: .operator) { account in
            guard let present = try account.members().first(where: { $0.person == person }) else {
                return try join(account, person, row: row, name: "", clock)
            }
            var edit = MemberEdit(account, types.member, clock)
            if present.role != .owner { try edit.change(present, [SpaceTypes.role: .string(Role.owner.rawValue)]) }
            return try edit.store()
        }
    }

    private func join(
        _ account: any AccountTransaction, _ person: String, row: String, name: String, _ clock: ServerClock
    ) throws -> Change {
        var edit = MemberEdit(account, types.member, clock)
        edit.add(
            row, of: person,
            [
                "space": SpaceAccount.space(of: account.account).map(JSON.string) ?? .null, "name": .string(name),
                SpaceTypes.role: .string(Role.owner.rawValue),
            ])
        return try edit.store()
    }

    public enum Removal: Hashable, Sendable {
        case removed(Change)
        case notMember
        /// The person is the only owner, or the only member.
        case lastOwner
    }

    public func remove(_ person: String, from account: String) async throws -> Removal {
        let clock = clock
        return try await store.write(account: account, as: .operator) { account in
            let members = try account.members()
            guard let present = members.first(where: { $0.person == person }) else { return .notMember }
            guard members.contains(where: { $0.role == .owner && $0.person != person }) else { return .lastOwner }
            var edit = MemberEdit(account, types.member, clock)
            try edit.change(present, [:], end: .removed)
            return .removed(try edit.store())
        }
    }

    /// Ends all memberships of a space, so that no person can change or join it.
    public func end(_ account: String) async throws -> Change {
        let clock = clock
        return try await store.write(account: account, as: .operator) { account in
            var edit = MemberEdit(account, types.member, clock)
            for membership in try account.members() { try edit.change(membership, [:], end: .deleted) }
            return try edit.store()
        }
    }

    /// The effect of a person's deletion on a space, before it happens.
    public struct Forecast: Hashable, Sendable {
        public var membership: Membership
        public var departure: Departure
        /// How many members the space has.
        public var members: Int
        /// The name of the heir in the space.
        public var heirName: String?
    }

    /// - Returns: Nil if the person is not a member.
    public func forecast(of person: String, in account: String, isInherited: Bool) async throws -> Forecast? {
        try await store.read(account: account, as: .operator) { account in
            let members = try account.members()
            guard let membership = members.first(where: { $0.person == person }) else { return nil }
            let departure = Departure(of: person, from: members, account.kind, isInherited: isInherited)
            var forecast = Forecast(membership: membership, departure: departure, members: members.count)
            if case .leaves(let heir?) = departure {
                let row = try account.rows(type: types.member, ids: [heir.memberID])[heir.memberID]
                forecast.heirName = row?.row.cells["name"]?.value.string
            }
            return forecast
        }
    }

    /// Ends a person's membership, and erases the person's name from the present and the former member rows. May be
    /// repeated.
    ///
    /// - Parameter isInherited: Whether another member becomes an owner if there is no other. If not, the space ends.
    public func forget(
        _ person: String, in account: String, isInherited: Bool
    ) async throws -> (departure: Departure, change: Change) {
        let clock = clock
        return try await store.write(account: account, as: .operator) { account in
            let members = try account.members()
            let departure = Departure(of: person, from: members, account.kind, isInherited: isInherited)
            var edit = MemberEdit(account, types.member, clock)
            for (id, stored) in try edit.rows(of: person).sorted(by: { $0.key < $1.key }) {
                let isMember = members.contains { $0.person == person && $0.memberID == id }
                let end: AccessEnd.Reason? = isMember ? (departure == .ends ? .deleted : .left) : nil
                if end == nil, stored.row.cells["name"]?.value.isNull ?? true { continue }
                edit.change(id, stored, ["name": .null], end: end)
            }
            if departure == .ends {
                for other in members where other.person != person { try edit.change(other, [:], end: .deleted) }
            }
            if case .leaves(let heir?) = departure {
                try edit.change(heir, [SpaceTypes.role: .string(Role.owner.rawValue)])
            }
            return (departure, try edit.store())
        }
    }

    private var clock: ServerClock { ServerClock(milliseconds: now().millisecondsSince1970) }
}
