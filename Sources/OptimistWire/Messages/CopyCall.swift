// This source file is part of the Optimist open source project, under the MIT licence.

/// The arguments of `T/copy`: rows that move from one account to another.
package struct CopyCall: Hashable, Sendable {
    /// A row to move. It keeps its id.
    package struct Row: Hashable, Sendable {
        package var id: String
        /// The columns that the source does not have yet.
        package var patch: RowPatch
        /// Whether ``patch`` is the full row. The source then need not have it.
        package var isWhole: Bool

        package init(id: String, patch: RowPatch, isWhole: Bool = false) {
            self.id = id
            self.patch = patch
            self.isWhole = isWhole
        }
    }

    /// The account that the rows leave.
    package var fromAccountID: String
    /// The account that the rows move to.
    package var accountID: String
    /// If set, the server refuses the call with `stateMismatch` unless the source is in this state.
    package var ifFromInState: String?
    /// The same for the destination.
    package var ifInState: String?
    /// Whether the rows end in the source. The server refuses other calls, because a row is in one account only.
    package var endsOriginals: Bool
    /// The rows, by creation id.
    package var create: [(id: String, row: Row)] = []

    package init(fromAccountID: String, accountID: String, endsOriginals: Bool = true) {
        self.fromAccountID = fromAccountID
        self.accountID = accountID
        self.endsOriginals = endsOriginals
    }

    /// Reads the arguments. Returns nil if an account or the rows are missing, or if a member or row is malformed.
    /// Unknown members are ignored.
    package init?(json: JSONObject) {
        guard let from = json["fromAccountId"]?.string, let to = json["accountId"]?.string,
            let endsOriginals = json["onSuccessDestroyOriginal"].optional(\.bool),
            let ifFromInState = json["ifFromInState"].optional(\.string),
            let ifInState = json["ifInState"].optional(\.string), let rows = json["create"]?.object
        else { return nil }
        self.init(fromAccountID: from, accountID: to, endsOriginals: endsOriginals ?? false)
        self.ifFromInState = ifFromInState
        self.ifInState = ifInState
        create.reserveCapacity(rows.count)
        for (creation, value) in rows {
            guard let members = value.object, let row = Row(json: members) else { return nil }
            create.append((creation, row))
        }
    }

    package var json: JSONObject {
        var object: JSONObject = ["fromAccountId": .string(fromAccountID), "accountId": .string(accountID)]
        if let ifFromInState { object.append("ifFromInState", .string(ifFromInState)) }
        if let ifInState { object.append("ifInState", .string(ifInState)) }
        if endsOriginals { object.append("onSuccessDestroyOriginal", true) }
        object.append("create", .object(JSONObject(create.map { ($0.id, .object($0.row.json)) })))
        return object
    }

    package static func == (a: Self, b: Self) -> Bool { a.json == b.json }
    package func hash(into hasher: inout Hasher) { json.hash(into: &hasher) }
}

extension CopyCall.Row {
    fileprivate init?(json: JSONObject) {
        guard let id = json["id"]?.string, let patch = RowPatch(json: json) else { return nil }
        self.init(id: id, patch: patch, isWhole: json["@whole"]?.bool ?? false)
    }

    fileprivate var json: JSONObject {
        var object = patch.json(id: id)
        if isWhole { object.append("@whole", true) }
        return object
    }
}

/// The answer to `T/copy`. The answer to a `/set` call follows, with the ends of the rows in the source.
@_spi(Internals) public struct CopyAnswer: Sendable {
    public var fromAccountID: String
    /// The destination's state before the call. Nil if the server omits it.
    public var oldState: String?
    /// The destination's state after the request.
    public var newState: String
    /// The moved rows by creation id, each with its life in the destination and the server's values that won.
    public var created: [(id: String, row: RowPatch)] = []
    /// The rows' ids by creation id, where they differ.
    public var rowIDs: [String: String] = [:]
    /// The rows that did not move, by creation id.
    public var notCreated: [(id: String, error: SetError)] = []

    public init(fromAccountID: String, oldState: String?, newState: String) {
        self.fromAccountID = fromAccountID
        self.oldState = oldState
        self.newState = newState
    }

    /// Reads an answer. Returns nil if `fromAccountId` or `newState` is missing, or a moved row cannot be read. An
    /// unreadable error becomes `serverFail`.
    public init?(json: JSONObject) {
        guard let from = json["fromAccountId"]?.string, let newState = json["newState"]?.string else { return nil }
        self.init(fromAccountID: from, oldState: json["oldState"]?.string, newState: newState)
        for (creation, value) in json["created"]?.object?.members ?? [] {
            guard let members = value.object, let row = RowPatch(json: members) else { return nil }
            created.append((creation, row))
            if let id = members["id"]?.string, id != creation { rowIDs[creation] = id }
        }
        notCreated = (json["notCreated"]?.object?.members ?? []).map {
            ($0.key, SetError(json: $0.value) ?? SetError("serverFail"))
        }
    }

    public func json(accountID: String) -> JSONObject {
        var object: JSONObject = ["fromAccountId": .string(fromAccountID), "accountId": .string(accountID)]
        object.append("oldState", oldState.map(JSON.string) ?? .null)
        object.append("newState", .string(newState))
        let created = created.map { ($0.id, JSON.object($0.row.json(id: rowIDs[$0.id] ?? $0.id))) }
        object.append("created", created.isEmpty ? .null : .object(JSONObject(created)))
        let refused = notCreated.map { ($0.id, $0.error.json) }
        object.append("notCreated", refused.isEmpty ? .null : .object(JSONObject(refused)))
        return object
    }
}
