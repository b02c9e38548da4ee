// This source file is part of the Optimist open source project, under the MIT licence.

/// The arguments of `T/changes`.
package struct ChangesCall: Hashable, Sendable {
    /// The requested account: one of ``SessionResource/accounts``.
    package var accountID: String
    /// The state the client has: ``SessionResource/initialState``, or the `newState` of an earlier answer.
    package var sinceState: String
    /// The maximum number of rows, at least 1. The server lowers a value above its own limit. Nil: the server's
    /// default, ``RowSync/Limit/pageRows``.
    package var maxChanges: Int?
    /// Whether the answer contains the rows. RS only. Otherwise it contains ids, as in RFC 8620 §5.2.
    package var isInline: Bool

    /// Makes the arguments. By default the answer contains rows, in pages of the server's default size.
    package init(accountID: String, sinceState: String, maxChanges: Int? = nil, isInline: Bool = true) {
        self.accountID = accountID
        self.sinceState = sinceState
        self.maxChanges = maxChanges
        self.isInline = isInline
    }

    /// Reads the arguments. Returns nil if `accountId` or `sinceState` is missing, or if a known member has the wrong
    /// type. Unknown members are ignored.
    package init?(json: JSONObject) {
        guard let accountID = json["accountId"]?.string, let sinceState = json["sinceState"]?.string,
            let maxChanges = json["maxChanges"].optional(\.int), let isInline = json["inline"].optional(\.bool)
        else { return nil }
        self.init(
            accountID: accountID, sinceState: sinceState, maxChanges: maxChanges.map(Int.init),
            isInline: isInline ?? false)
    }

    package var json: JSONObject {
        var object: JSONObject = ["accountId": .string(accountID), "sinceState": .string(sinceState)]
        if let maxChanges { object.append("maxChanges", .int(Int64(maxChanges))) }
        if isInline { object.append("inline", true) }
        return object
    }
}

/// The answer to `T/changes` with `inline`: complete rows, and the clocks of deleted ones.
@_spi(Internals) public struct InlineChanges: Sendable {
    public var oldState: String
    /// The state after this page, for the client's next call. Store it in the same transaction as the rows.
    public var newState: String
    /// Whether to call again from ``newState`` for more changes.
    public var hasMoreChanges: Bool
    /// The account's state when the server read the rows, if ``hasMoreChanges``. Nil if the server omits it.
    public var head: String?
    /// The complete rows written since ``oldState``, in the order of their last transactions.
    public var list: [(id: String, patch: RowPatch)]
    /// The rows deleted since ``oldState``, in the order of their last transactions.
    public var destroyed: [(id: String, tombstone: Tombstone)]

    /// Makes an answer without ``head``. By default, an empty last page.
    public init(
        oldState: String, newState: String, hasMoreChanges: Bool = false, list: [(id: String, patch: RowPatch)] = [],
        destroyed: [(id: String, tombstone: Tombstone)] = []
    ) {
        self.oldState = oldState
        self.newState = newState
        self.hasMoreChanges = hasMoreChanges
        self.list = list
        self.destroyed = destroyed
    }

    /// Reads an answer.
    ///
    /// Returns nil if a state or `list` is missing, a row has no id or cannot be read, or a deleted row has no
    /// generation, because a client applies a page completely or not at all. A missing `hasMoreChanges` is false.
    public init?(json: JSONObject) {
        guard let oldState = json["oldState"]?.string, let newState = json["newState"]?.string,
            let rows = json["list"]?.array
        else { return nil }
        self.init(oldState: oldState, newState: newState, hasMoreChanges: json["hasMoreChanges"]?.bool ?? false)
        head = json["head"]?.string
        list.reserveCapacity(rows.count)
        for row in rows {
            guard let members = row.object, let id = members["id"]?.string, let patch = RowPatch(json: members) else {
                return nil
            }
            list.append((id, patch))
        }
        let clocks = Dictionary(
            (json["destroyClocks"]?.object?.members ?? []).map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
        for id in json["destroyed"]?.array ?? [] {
            guard let id = id.string, let tombstone = clocks[id].flatMap({ Tombstone(json: $0) }) else { return nil }
            destroyed.append((id, tombstone))
        }
    }

    public func json(accountID: String) -> JSONObject {
        var object: JSONObject = [
            "accountId": .string(accountID), "oldState": .string(oldState), "newState": .string(newState),
            "hasMoreChanges": .bool(hasMoreChanges), "created": [], "updated": [],
            "list": .array(list.map { .object($0.patch.json(id: $0.id)) }),
            "destroyed": .array(destroyed.map { .string($0.id) }),
            "destroyClocks": .object(JSONObject(destroyed.map { ($0.id, $0.tombstone.json) })),
        ]
        if let head { object.append("head", .string(head)) }
        return object
    }
}
