// This source file is part of the Optimist open source project, under the MIT licence.

/// The arguments of `T/changes` with `snapshot`: the living rows of a type in the order of their ids.
public struct SnapshotCall: Hashable, Sendable {
    public var accountID: String
    /// The state that the first answer noted. Nil: this is the first call.
    public var at: String?
    /// The id after which the rows begin. Nil: the first row.
    public var after: String?
    /// The most rows to answer with. Nil: the server's default.
    public var maxChanges: Int?

    public init(accountID: String, at: String? = nil, after: String? = nil, maxChanges: Int? = nil) {
        self.accountID = accountID
        self.at = at
        self.after = after
        self.maxChanges = maxChanges
    }

    /// Reads the arguments. Nil if they are not those of a snapshot.
    public init?(json: JSONObject) {
        guard let accountID = json["accountId"]?.string, let place = json["snapshot"]?.object,
            let at = place["at"].optional(\.string), let after = place["after"].optional(\.string),
            let maxChanges = json["maxChanges"].optional(\.int)
        else { return nil }
        self.init(accountID: accountID, at: at, after: after, maxChanges: maxChanges.map(Int.init))
    }

    public var json: JSONObject {
        var place = JSONObject()
        if let at { place.append("at", .string(at)) }
        if let after { place.append("after", .string(after)) }
        var object: JSONObject = ["accountId": .string(accountID), "inline": true, "snapshot": .object(place)]
        if let maxChanges { object.append("maxChanges", .int(Int64(maxChanges))) }
        return object
    }
}

/// The answer to `T/changes` with `snapshot`.
public struct SnapshotAnswer: Sendable {
    /// The state that was noted before the first row was read.
    public var at: String
    /// The last row's id, if there are more. Nil: these were the last.
    public var next: String?
    /// How many rows the type has, roughly. Nil: the server does not say.
    public var total: Int?
    /// The account's state that these rows were read at. Nil: the server does not say.
    public var head: String?
    public var list: [(id: String, patch: RowPatch)]

    public init(at: String, next: String?, total: Int? = nil, list: [(id: String, patch: RowPatch)]) {
        self.at = at
        self.next = next
        self.total = total
        self.list = list
    }

    /// Reads an answer. Nil if a row has no id: a page is taken whole or not at all.
    public init?(json: JSONObject) {
        guard let at = json["at"]?.string, let rows = json["list"]?.array else { return nil }
        self.init(at: at, next: json["next"]?.string, total: json["total"]?.int.map(Int.init), list: [])
        head = json["head"]?.string
        list.reserveCapacity(rows.count)
        for row in rows {
            guard let members = row.object, let id = members["id"]?.string, let patch = RowPatch(json: members) else {
                return nil
            }
            list.append((id, patch))
        }
    }

    public func json(accountID: String) -> JSONObject {
        var object: JSONObject = [
            "accountId": .string(accountID), "at": .string(at), "next": next.map(JSON.string) ?? .null,
            "list": .array(list.map { .object($0.patch.json(id: $0.id)) }),
        ]
        if let total { object.append("total", .int(Int64(total))) }
        if let head { object.append("head", .string(head)) }
        return object
    }
}
