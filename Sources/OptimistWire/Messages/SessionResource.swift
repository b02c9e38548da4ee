// This source file is part of the Optimist open source project, under the MIT licence.

/// The JMAP session: what the server can do, and the accounts that its bearer may use (RFC 8620 §2).
public struct SessionResource: Hashable, Sendable {
    public var username: String
    public var apiURL: String
    public var eventSourceURL: String
    public var state: String
    /// The database's present life. Another one means that the server may have gone back.
    public var epoch: String
    /// The state from which an empty device starts.
    public var initialState: String
    /// Each account's id with its schema.
    public var accounts: [String: Schema]
    public var primaryAccount: String?
    /// For how many days the server remembers a deleted row. Nil: it does not say.
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

    /// Reads a session. Nil if it is none, or if its server does not speak RS.
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
                    "maxObjectsInSet": .int(Int64(RowSync.Limit.rowsInSet)), "collationAlgorithms": [],
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
public struct RequestProblem: Error, Hashable, Sendable {
    /// A URI. The protocol's own start with `urn:ietf:params:jmap:error:`.
    public var type: String
    public var status: Int
    public var detail: String
    /// Of a `limit` problem: which limit.
    public var limit: String?

    public static let jmapPrefix = "urn:ietf:params:jmap:error:"

    public init(type: String, status: Int, detail: String, limit: String? = nil) {
        self.type = type
        self.status = status
        self.detail = detail
        self.limit = limit
    }

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
