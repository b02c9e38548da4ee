// This source file is part of the Optimist open source project, under the MIT licence.

/// The JMAP session: the server's capabilities and the accounts that the token grants access to (RFC 8620 §2).
@_spi(Internals) public struct SessionResource: Hashable, Sendable {
    /// The email address of the signed-in user. Empty if the server omits it.
    public var username: String
    /// The URL for requests. It may be relative to the server's address.
    public var apiURL: String
    /// The URL template of the event source, with `{types}`, `{closeafter}` and `{ping}`. Empty if the server has no
    /// events.
    public var eventSourceURL: String
    /// The state of this resource, repeated in every response as ``Response/sessionState``.
    public var state: String
    /// The current epoch of the server's database. If it differs from the known one, the server may have been restored
    /// to an earlier state.
    public var epoch: String
    /// The state from which an empty device starts.
    public var initialState: String
    /// The accounts' schemas by account id. Accounts with unreadable schemas are omitted.
    public var accounts: [String: Schema]
    /// The spaces that the person uses and is a member of, by account id. Read only by clients of other makers.
    public var spaces: [String: Space] = [:]
    /// The limits of spaces, by their names in the capability. Empty if there are no spaces.
    public var spaceLimits: JSONObject = [:]
    /// The default account. Nil if the server names none.
    public var primaryAccount: String?
    /// The number of days the server remembers a deleted row. Nil if the server omits it.
    public var tombstoneDays: Int?

    public init(
        username: String, apiURL: String, eventSourceURL: String, state: String, epoch: String, initialState: String,
        accounts: [String: Schema], primaryAccount: String?, tombstoneDays: Int? = nil
    ) {
        self.username = username
        self.apiURL = apiURL
        self.eventSourceURL = eventSourceURL
        self.state = state
        self.epoch = epoch
        self.initialState = initialState
        self.accounts = accounts
        self.primaryAccount = primaryAccount
        self.tombstoneDays = tombstoneDays
    }

    /// Reads a session. Returns nil if it lacks an RS capability with an `epoch`, an `apiUrl` or a `state`. A missing
    /// `initialState` defaults to `epoch.0`.
    public init?(json: JSON) {
        guard let rs = json["capabilities"]?[RowSync.capability], let epoch = rs["epoch"]?.string,
            let apiURL = json["apiUrl"]?.string, let state = json["state"]?.string
        else { return nil }
        self.init(
            username: json["username"]?.string ?? "", apiURL: apiURL,
            eventSourceURL: json["eventSourceUrl"]?.string ?? "", state: state, epoch: epoch,
            initialState: rs["initialState"]?.string ?? "\(epoch).0", accounts: [:],
            primaryAccount: json["primaryAccounts"]?[RowSync.capability]?.string,
            tombstoneDays: rs["tombstoneDays"]?.int.map(Int.init))
        for (id, account) in json["accounts"]?.object?.members ?? [] {
            guard let definition = account["accountCapabilities"]?[RowSync.capability]?["schema"] else { continue }
            accounts[id] = try? Schema(json: definition)
        }
    }

    /// The wire form, with the limits of ``RowSync/Limit``.
    public var json: JSON {
        var rowSync: JSONObject = [
            "version": .int(Int64(RowSync.version)), "epoch": .string(epoch), "initialState": .string(initialState),
            "maxClockSkewMs": .int(RowSync.Limit.clockSkewMilliseconds),
        ]
        for (name, limit) in spaceLimits { rowSync.append(name, limit) }
        if let tombstoneDays { rowSync.append("tombstoneDays", .int(Int64(tombstoneDays))) }
        return [
            "capabilities": [
                RowSync.core: [
                    // RFC 8620 requires these members. Uploads are not supported.
                    "maxSizeUpload": 0, "maxConcurrentUpload": 0,
                    "maxSizeRequest": .int(Int64(RowSync.Limit.requestBytes)),
                    "maxConcurrentRequests": .int(Int64(RowSync.Limit.concurrentRequests)),
                    "maxCallsInRequest": .int(Int64(RowSync.Limit.callsInRequest)),
                    "maxObjectsInGet": .int(Int64(RowSync.Limit.rowsInSet)),
                    "maxObjectsInSet": .int(Int64(RowSync.Limit.advertisedRowsInSet)), "collationAlgorithms": [],
                ],
                RowSync.capability: .object(rowSync),
            ],
            "accounts": .object(
                JSONObject(
                    accounts.sorted { $0.key < $1.key }.map { ($0.key, accountJSON($0.value)) }
                        + spaces.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })),
            "primaryAccounts": .object(
                JSONObject(
                    primaryAccount.map { [(RowSync.capability, .string($0)), (RowSync.core, .string($0))] } ?? [])),
            "username": .string(username), "apiUrl": .string(apiURL), "eventSourceUrl": .string(eventSourceURL),
            "downloadUrl": "", "uploadUrl": "", "state": .string(state),
        ]
    }

    /// A space among the accounts of a session (RFC 8620 §2). Its schema is that of the primary account.
    public struct Space: Hashable, Sendable {
        /// The person's own name for the space.
        public var name: String
        public var isReadOnly: Bool

        public init(name: String, isReadOnly: Bool) {
            self.name = name
            self.isReadOnly = isReadOnly
        }

        fileprivate var json: JSON {
            [
                "name": .string(name), "isPersonal": false, "isReadOnly": .bool(isReadOnly),
                "accountCapabilities": [RowSync.core: [:], RowSync.capability: [:]],
            ]
        }
    }

    private func accountJSON(_ schema: Schema) -> JSON {
        [
            "name": .string(username), "isPersonal": true, "isReadOnly": false,
            "accountCapabilities": [RowSync.core: [:], RowSync.capability: ["schema": schema.json]],
        ]
    }
}

/// An error about a request as a whole: the problem details of RFC 9457, as used in RFC 8620 §3.6.1.
@_spi(Internals) public struct RequestProblem: Error, Hashable, Sendable {
    /// A URI. JMAP's own types start with `urn:ietf:params:jmap:error:`.
    public var type: String
    /// The response's HTTP status, such as 400. Zero if the server omits it.
    public var status: Int
    /// One sentence that a client may log. It may quote a name from the request.
    public var detail: String
    /// The exceeded limit, such as `maxSizeRequest`, if the type ends with `limit`.
    public var limit: String?

    /// The prefix of JMAP's own problem types.
    public static let jmapPrefix = "urn:ietf:params:jmap:error:"

    public init(type: String, status: Int, detail: String, limit: String? = nil) {
        self.type = type
        self.status = status
        self.detail = detail
        self.limit = limit
    }

    /// Reads problem details. Returns nil without a `type`; other missing members are zero, empty or nil.
    public init?(json: JSON) {
        guard let type = json["type"]?.string else { return nil }
        self.init(
            type: type, status: Int(json["status"]?.int ?? 0), detail: json["detail"]?.string ?? "",
            limit: json["limit"]?.string)
    }

    public var json: JSON {
        var object: JSONObject = ["type": .string(type), "status": .int(Int64(status)), "detail": .string(detail)]
        if let limit { object.append("limit", .string(limit)) }
        return .object(object)
    }
}
