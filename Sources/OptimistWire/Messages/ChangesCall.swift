// This source file is part of the Optimist open source project, under the MIT licence.

/// The arguments of `T/changes`. With `inline` the answer carries the rows themselves.
public struct ChangesCall: Hashable, Sendable {
    public var accountID: String
    public var sinceState: String
    /// The most rows to answer with. Nil: the server's default.
    public var maxChanges: Int?
    public var isInline: Bool

    public init(accountID: String, sinceState: String, maxChanges: Int? = nil, isInline: Bool = true) {
        self.accountID = accountID
        self.sinceState = sinceState
        self.maxChanges = maxChanges
        self.isInline = isInline
    }

    /// Reads the arguments. Nil if they are not those of a /changes, or one of them is of the wrong type.
    public init?(json: JSONObject) {
        guard let accountID = json["accountId"]?.string, let sinceState = json["sinceState"]?.string,
            let maxChanges = json["maxChanges"].optional(\.int), let isInline = json["inline"].optional(\.bool)
        else { return nil }
        self.init(
            accountID: accountID, sinceState: sinceState, maxChanges: maxChanges.map(Int.init),
            isInline: isInline ?? false)
    }

    public var json: JSONObject {
        var object: JSONObject = ["accountId": .string(accountID), "sinceState": .string(sinceState)]
        if let maxChanges { object.append("maxChanges", .int(Int64(maxChanges))) }
        if isInline { object.append("inline", true) }
        return object
    }
}

/// The answer to `T/changes` with `inline`: whole rows, and the clocks of deleted ones.
public struct InlineChanges: Sendable {
    public var oldState: String
    public var newState: String
    public var hasMoreChanges: Bool
    /// If there is more: the account's state that the rows were read at. Nil: the server does not say.
    public var head: String?
    public var list: [(id: String, patch: RowPatch)]
    public var destroyed: [(id: String, tombstone: Tombstone)]

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

    /// Reads an answer. Nil if a row has no id, or a deleted row no generation: a page is taken whole or not at all.
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
