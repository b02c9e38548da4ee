// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

/// The values of the session resource and the event source.
@_spi(Internals) extension JMAPService {
    /// The state of a person's own account.
    public func state(of person: String) async throws -> SyncState {
        try await store.read(account: person, as: .person(person)) { SyncState(epoch: $0.epoch, seq: $0.seq) }
    }

    /// The session resource of a person, with the URLs of Optimist's own server.
    ///
    /// - Parameter origin: The origin of the server as clients see it, such as `https://sync.example.org`. Some clients
    ///   cannot start with a relative URL. Default: empty, for relative URLs.
    /// - Throws: The store's error.
    public func session(account: String, username: String, origin: String = "") async throws -> SessionResource {
        var session = SessionResource(
            username: username, apiURL: "\(origin)/jmap/",
            eventSourceURL: "\(origin)/jmap/eventsource?types={types}&closeafter={closeafter}&ping={ping}",
            state: sessionState, epoch: epoch, initialState: "\(epoch).0", accounts: [account: schema],
            primaryAccount: account, tombstoneDays: settings.tombstoneDays)
        guard hasSpaces else { return session }
        session.spaceLimits = settings.spaceLimits.json
        let used = try await usedSpaces(of: account)
        for (id, space) in try await states(of: Set(used.keys), as: .person(account)).open {
            session.spaces[id] = SessionResource.Space(
                name: used[id] ?? "", isReadOnly: space.access.role == .reader)
        }
        return session
    }

    /// The persons who may read a space, and its state at the same moment. Nil: every person may.
    public func readers(of space: String) async throws -> (persons: Set<String>?, state: SyncState) {
        try await store.read(account: space, as: .operator) { account in
            let state = SyncState(epoch: account.epoch, seq: account.seq)
            return (account.kind == .publicSpace ? nil : Set(try account.members().map(\.person)), state)
        }
    }

    /// The type of a person's own rows that name the spaces.
    public var spaceType: String { settings.spaceTypes.space }

    /// Whether the schema lets rows be in spaces.
    public var hasSpaces: Bool { schema.types[settings.spaceTypes.member] != nil }

    /// The states of accounts, as far as the reader may open them. One query for each 500 accounts.
    public func states(of accounts: Set<String>, as reader: Reader) async throws -> OpenAccounts<AccountState> {
        var states = OpenAccounts<AccountState>()
        var rest = accounts.sorted()[...]
        while !rest.isEmpty {
            let found = try await store.states(of: Set(rest.prefix(500)), as: reader)
            rest = rest.dropFirst(500)
            states.open.merge(found.open) { $1 }
            states.ended.merge(found.ended) { $1 }
        }
        return states
    }

    /// The person's names for the spaces in `optimist_space`, by account. The person may not be a member of them.
    public func usedSpaces(of person: String) async throws -> [String: String] {
        guard hasSpaces else { return [:] }
        let (type, limit) = (settings.spaceTypes.space, RowSync.Limit.accountsInChanged)
        let rows = try await store.read(account: person, as: .person(person)) { account in
            try account.livingRows(type: type, after: nil, limit: limit, maxBytes: AnswerLimit.pageBytes).rows
        }
        var names: [String: String] = [:]
        for row in rows {
            guard let account = SpaceAccount.id(ofSpace: row.id) else { continue }
            names[account] = (try? JSON(parsing: row.content))?["name"]?.string ?? ""
        }
        return names
    }
}

extension SpaceLimits {
    /// The limits as the capability advertises them.
    fileprivate var json: JSONObject {
        [
            "maxSpaces": .int(Int64(spaces)), "maxOwnedSpaces": .int(Int64(ownedSpaces)),
            "maxMembers": .int(Int64(members)), "maxInvitations": .int(Int64(invitations)),
            "maxRowsInSpace": .int(Int64(rows)),
        ]
    }
}
