// This source file is part of the Optimist open source project, under the MIT licence.

/// The arguments of `T/changes` with `snapshot`: the living rows of a type, ordered by id.
package struct SnapshotCall: Hashable, Sendable {
    /// The requested account: one of ``SessionResource/accounts``.
    package var accountID: String
    /// ``SnapshotAnswer/at`` of the first answer. Nil in the first call.
    package var at: String?
    /// The id after which the page starts: ``SnapshotAnswer/next`` of the previous answer. Nil: from the first row.
    package var after: String?
    /// The maximum number of rows, at least 1. The server lowers a value above its own limit. Nil: the server's
    /// default, ``RowSync/Limit/pageRows``.
    package var maxChanges: Int?

    package init(accountID: String, at: String? = nil, after: String? = nil, maxChanges: Int? = nil) {
        self.accountID = accountID
        self.at = at
        self.after = after
        self.maxChanges = maxChanges
    }

    /// Reads the arguments. Returns nil if `accountId` or `snapshot` is missing, if a known member has the wrong type,
    /// or if `after` is not a row id. Unknown members are ignored.
    package init?(json: JSONObject) {
        guard let accountID = json["accountId"]?.string, let place = json["snapshot"]?.object,
            let at = place["at"].optional(\.string), let after = place["after"].optional(\.string),
            let maxChanges = json["maxChanges"].optional(\.int), after.map(RowID.isValid) ?? true
        else { return nil }
        self.init(accountID: accountID, at: at, after: after, maxChanges: maxChanges.map(Int.init))
    }

    package var json: JSONObject {
        var place = JSONObject()
        if let at { place.append("at", .string(at)) }
        if let after { place.append("after", .string(after)) }
        var object: JSONObject = ["accountId": .string(accountID), "inline": true, "snapshot": .object(place)]
        if let maxChanges { object.append("maxChanges", .int(Int64(maxChanges))) }
        return object
    }
}

/// The answer to `T/changes` with `snapshot`.
@_spi(Internals) public struct SnapshotAnswer: Sendable {
    /// The account's state before the first row was read. After the last table, pull from here.
    public var at: String
    /// The last row's id if more rows follow, otherwise nil.
    public var next: String?
    /// The approximate number of rows of the type, only in the type's first page. Nil if the server omits it.
    public var total: Int?
    /// The account's state when the server read these rows. Nil if the server omits it.
    public var head: String?
    /// The complete living rows, ordered by id.
    public var list: [(id: String, patch: RowPatch)]

    public init(at: String, next: String?, total: Int? = nil, list: [(id: String, patch: RowPatch)]) {
        self.at = at
        self.next = next
        self.total = total
        self.list = list
    }

    /// Reads an answer. Returns nil if `at` or `list` is missing, or if a row has no id or cannot be read, because a
    /// client applies a page completely or not at all.
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
