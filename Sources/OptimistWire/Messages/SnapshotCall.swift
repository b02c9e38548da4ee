// This source file is part of the Optimist open source project, under the MIT licence.

/// The arguments of `T/changes` with `snapshot`: the living rows of a type in the order of their ids.
package struct SnapshotCall: Hashable, Sendable {
    /// The account whose rows are asked for: one of ``SessionResource/accounts``.
    package var accountID: String
    /// The state that the first answer gave as ``SnapshotAnswer/at``. Nil: this is the first call.
    package var at: String?
    /// The id after which the rows begin: ``SnapshotAnswer/next`` of the answer before. Nil: the first row.
    package var after: String?
    /// The most rows to answer with, from 1 on. Nil: the server's default, ``RowSync/Limit/pageRows``. The server
    /// lowers a value above its own limit.
    package var maxChanges: Int?

    /// Makes the arguments. The defaults begin a snapshot.
    package init(accountID: String, at: String? = nil, after: String? = nil, maxChanges: Int? = nil) {
        self.accountID = accountID
        self.at = at
        self.after = after
        self.maxChanges = maxChanges
    }

    /// Reads the arguments. Returns nil if `accountId` or `snapshot` is missing, if a known member is of the wrong type, or if
    /// `after` is not a row's id. Unknown members are ignored.
    package init?(json: JSONObject) {
        guard let accountID = json["accountId"]?.string, let place = json["snapshot"]?.object,
            let at = place["at"].optional(\.string), let after = place["after"].optional(\.string),
            let maxChanges = json["maxChanges"].optional(\.int), after.map(RowID.isValid) ?? true
        else { return nil }
        self.init(accountID: accountID, at: at, after: after, maxChanges: maxChanges.map(Int.init))
    }

    /// The wire form.
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
    /// The last row's id, if more rows follow. Nil: these were the last.
    public var next: String?
    /// How many rows the type has, roughly, in its first page. Nil if the server omits it.
    public var total: Int?
    /// The account's state when the server read these rows. Nil if the server omits it.
    public var head: String?
    /// The living rows in the order of their ids, each whole.
    public var list: [(id: String, patch: RowPatch)]

    /// Makes an answer from its parts, without ``head``.
    public init(at: String, next: String?, total: Int? = nil, list: [(id: String, patch: RowPatch)]) {
        self.at = at
        self.next = next
        self.total = total
        self.list = list
    }

    /// Reads an answer. Returns nil if `at` or `list` is missing, or if a row has no id or cannot be read: a client
    /// takes a page whole or not at all.
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

    /// The wire form.
    ///
    /// - Parameter accountID: The account of the call, which every answer repeats.
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
