// This source file is part of the Optimist open source project, under the MIT licence.

/// The JMAP session: what the server can do, and the accounts that the bearer of the token may use (RFC 8620 §2).
@_spi(Internals) public struct SessionResource: Hashable, Sendable {
    /// The email address of the person who is signed in. Empty if the server omits it.
    public var username: String
    /// Where requests are posted. It may be relative to the server's address.
    public var apiURL: String
    /// The template of the event source's URL, with `{types}`, `{closeafter}` and `{ping}`. Empty if the server has no
    /// events.
    public var eventSourceURL: String
    /// The state of this resource, which every response repeats as ``Response/sessionState``.
    public var state: String
    /// The present life of the server's database. If it differs from the known one, the server may have gone back to an
    /// earlier state.
    public var epoch: String
    /// The state from which a device without rows starts.
    public var initialState: String
    /// The schema of each account, by the account's id. An account whose schema cannot be read is left out.
    public var accounts: [String: Schema]
    /// The account that a client uses if it has no reason for another one. Nil if the server names none.
    public var primaryAccount: String?
    /// How many days the server remembers a deleted row. Nil if the server omits it.
    public var tombstoneDays: Int?

    /// Makes a session from its parts.
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

    /// Reads a session. Returns nil if it has no RS capability with an `epoch`, no `apiUrl` or no `state`. An
    /// `initialState` that is missing is `epoch.0`.
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
        if let tombstoneDays { rowSync.append("tombstoneDays", .int(Int64(tombstoneDays))) }
        return [
            "capabilities": [
                RowSync.core: [
                    // RFC 8620 wants them. There are no uploads.
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
                JSONObject(accounts.sorted { $0.key < $1.key }.map { ($0.key, accountJSON($0.value)) })),
            "primaryAccounts": .object(
                JSONObject(
                    primaryAccount.map { [(RowSync.capability, .string($0)), (RowSync.core, .string($0))] } ?? [])),
            "username": .string(username), "apiUrl": .string(apiURL), "eventSourceUrl": .string(eventSourceURL),
            "downloadUrl": "", "uploadUrl": "", "state": .string(state),
        ]
    }

    private func accountJSON(_ schema: Schema) -> JSON {
        [
            "name": .string(username), "isPersonal": true, "isReadOnly": false,
            "accountCapabilities": [RowSync.core: [:], RowSync.capability: ["schema": schema.json]],
        ]
    }
}

/// An error that concerns a request as a whole: the problem details of RFC 9457, as RFC 8620 §3.6.1 uses them.
@_spi(Internals) public struct RequestProblem: Error, Hashable, Sendable {
    /// A URI. The protocol's own start with `urn:ietf:params:jmap:error:`.
    public var type: String
    /// The HTTP status that the answer has too, such as 400. Zero if the server omits it.
    public var status: Int
    /// One sentence for people, which a client may log. It may quote a name from the request.
    public var detail: String
    /// Which limit was passed, in a problem whose type ends with `limit`, such as `maxSizeRequest`.
    public var limit: String?

    /// How the types of JMAP's own problems begin.
    public static let jmapPrefix = "urn:ietf:params:jmap:error:"

    /// Makes a problem from its parts.
    public init(type: String, status: Int, detail: String, limit: String? = nil) {
        self.type = type
        self.status = status
        self.detail = detail
        self.limit = limit
    }

    /// Reads problem details. Returns nil if there is no `type`; other missing members are zero, empty or nil.
    public init?(json: JSON) {
        guard let type = json["type"]?.string else { return nil }
        self.init(
            type: type, status: Int(json["status"]?.int ?? 0), detail: json["detail"]?.string ?? "",
            limit: json["limit"]?.string)
    }

    /// The wire form.
    public var json: JSON {
        var object: JSONObject = ["type": .string(type), "status": .int(Int64(status)), "detail": .string(detail)]
        if let limit { object.append("limit", .string(limit)) }
        return .object(object)
    }
}
