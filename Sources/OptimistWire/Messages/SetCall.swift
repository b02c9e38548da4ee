// This source file is part of the Optimist open source project, under the MIT licence.

/// The arguments of `T/set`: rows to create, to change and to destroy.
package struct SetCall: Hashable, Sendable {
    /// The account whose rows are written: one of ``SessionResource/accounts``.
    package var accountID: String
    /// The state that the account must still be in, or the call is refused with `stateMismatch`. Nil: any.
    package var ifInState: String?
    /// The rows to create, by creation id. A creation id that is a lower-case UUID becomes the row's id.
    package var create: [(id: String, patch: RowPatch)] = []
    /// The rows to change, by id, each with the columns that change.
    package var update: [(id: String, patch: RowPatch)] = []
    /// The rows to delete, by id. Without a tombstone the server ends the row's present life, now.
    package var destroy: [(id: String, tombstone: Tombstone?)] = []

    /// Makes a call without rows.
    package init(accountID: String, ifInState: String? = nil) {
        self.accountID = accountID
        self.ifInState = ifInState
    }

    /// How many rows the call names, at most ``RowSync/Limit/rowsInSet``.
    package var rowCount: Int { create.count + update.count + destroy.count }

    /// Reads the arguments. Returns nil if `accountId` is missing, or if a member, a row or a tombstone is malformed.
    /// Unknown members are ignored.
    package init?(json: JSONObject) {
        guard let accountID = json["accountId"]?.string, let ifInState = json["ifInState"].optional(\.string) else {
            return nil
        }
        self.init(accountID: accountID, ifInState: ifInState)
        guard let create = Self.patches(json["create"]), let update = Self.patches(json["update"]) else { return nil }
        self.create = create
        self.update = update
        guard let destroy = json["destroy"], !destroy.isNull else { return }
        guard let ids = destroy.array?.map(\.string), !ids.contains(nil) else { return nil }
        guard let clocks = json["destroyClocks"].optional(\.object) else { return nil }
        var tombstones: [String: Tombstone] = [:]
        for (id, value) in clocks?.members ?? [] {
            // Without it, this would be another delete: one that happens now.
            guard let tombstone = Tombstone(json: value) else { return nil }
            tombstones[id] = tombstone
        }
        self.destroy = ids.compactMap(\.self).map { ($0, tombstones[$0]) }
    }

    private static func patches(_ json: JSON?) -> [(id: String, patch: RowPatch)]? {
        guard let json, !json.isNull else { return [] }
        guard let object = json.object else { return nil }
        var patches: [(id: String, patch: RowPatch)] = []
        patches.reserveCapacity(object.count)
        for (id, value) in object {
            guard let members = value.object, let patch = RowPatch(json: members) else { return nil }
            patches.append((id, patch))
        }
        return patches
    }

    /// The wire form. Lists without rows are omitted.
    package var json: JSONObject {
        var object: JSONObject = ["accountId": .string(accountID)]
        if let ifInState { object.append("ifInState", .string(ifInState)) }
        if !create.isEmpty {
            object.append("create", .object(JSONObject(create.map { ($0.id, .object($0.patch.json())) })))
        }
        if !update.isEmpty {
            object.append("update", .object(JSONObject(update.map { ($0.id, .object($0.patch.json())) })))
        }
        if !destroy.isEmpty {
            object.append("destroy", .array(destroy.map { .string($0.id) }))
            let clocks = destroy.compactMap { row in row.tombstone.map { (row.id, $0.json) } }
            if !clocks.isEmpty { object.append("destroyClocks", .object(JSONObject(clocks))) }
        }
        return object
    }

    package static func == (a: Self, b: Self) -> Bool { a.json == b.json }
    package func hash(into hasher: inout Hasher) { json.hash(into: &hasher) }
}

/// Why the server did not apply one row of a `/set`.
public struct SetError: Hashable, Sendable {
    /// One of the types of RFC 8620 §5.3 and Documentation/Protocol.md, or one that this version does not know: keep
    /// the row, and try again later.
    public var type: String
    /// A sentence for people. Nil if the server omits it.
    public var description: String?
    /// The columns at fault. Empty: the row as a whole, or the server does not say.
    public var properties: [String]
    /// The rows, as `Type:id`, that this one waits for.
    package var blockedBy: [String]
    /// The server's row. Nil: it has none, or does not tell.
    package var current: RowPatch?
    /// How long to wait before the row is sent again, in seconds. Nil: the client decides.
    package var retryAfterSeconds: Double?
    /// In a `uniqueViolation`, the id of the row that has the values.
    @_spi(Internals) public var winner: String?
    /// In a `notFound`, how the row was deleted.
    package var deletion: Tombstone?
    /// The app's own word for the error, such as ``RowFault/code``. Nil: the type says all.
    public var code: String?

    /// Makes an error. By default it says nothing but its type.
    public init(
        _ type: String, _ description: String? = nil, properties: [String] = [], blockedBy: [String] = [],
        current: RowPatch? = nil, retryAfterSeconds: Double? = nil, winner: String? = nil, deletion: Tombstone? = nil,
        code: String? = nil
    ) {
        self.type = type
        self.description = description
        self.properties = properties
        self.blockedBy = blockedBy
        self.current = current
        self.retryAfterSeconds = retryAfterSeconds
        self.winner = winner
        self.deletion = deletion
        self.code = code
    }

    /// Reads an error. Returns nil if there is no `type`; other members that are missing or malformed count as nil or
    /// empty.
    package init?(json: JSON) {
        guard let type = json["type"]?.string else { return nil }
        self.init(
            type, json["description"]?.string, properties: json["properties"]?.array?.compactMap(\.string) ?? [],
            blockedBy: json["by"]?.array?.compactMap(\.string) ?? [],
            current: json["current"]?.object.flatMap { RowPatch(json: $0) },
            retryAfterSeconds: json["retryAfter"]?.double, winner: json["winner"]?.string,
            deletion: json["deletion"].flatMap { Tombstone(json: $0) }, code: json["code"]?.string)
    }

    /// The wire form. Members that are nil or empty are omitted.
    package var json: JSON {
        var object: JSONObject = ["type": .string(type)]
        if let description { object.append("description", .string(description)) }
        if !properties.isEmpty { object.append("properties", .array(properties.map(JSON.string))) }
        if !blockedBy.isEmpty { object.append("by", .array(blockedBy.map(JSON.string))) }
        if let current { object.append("current", .object(current.json())) }
        if let retryAfterSeconds { object.append("retryAfter", .double(retryAfterSeconds)) }
        if let winner { object.append("winner", .string(winner)) }
        if let deletion { object.append("deletion", deletion.json) }
        if let code { object.append("code", .string(code)) }
        return .object(object)
    }
}

/// The answer to `T/set`.
@_spi(Internals) public struct SetAnswer: Sendable {
    /// The account's state before the call. Nil if the server omits it.
    public var oldState: String?
    /// The account's state after the request.
    public var newState: String
    /// The rows that were created, by creation id, with the columns in which the server's value won, and their clocks.
    /// Nil: the row is exactly what was sent.
    public var created: [(id: String, won: RowPatch?)] = []
    /// The rows' ids by creation id, for rows whose id the server chose. Empty for clients that use UUIDs as creation
    /// ids.
    public var rowIDs: [String: String] = [:]
    /// The rows that were changed, by id, with the columns in which the server's value won, and their clocks. Nil: the
    /// columns are exactly what was sent.
    public var updated: [(id: String, won: RowPatch?)] = []
    /// The ids of the rows that were deleted.
    public var destroyed: [String] = []
    /// The rows that were not created, by creation id.
    public var notCreated: [(id: String, error: SetError)] = []
    /// The rows that were not changed, by id.
    public var notUpdated: [(id: String, error: SetError)] = []
    /// The rows that were not deleted, by id.
    public var notDestroyed: [(id: String, error: SetError)] = []

    /// Makes an answer that names no rows.
    public init(oldState: String?, newState: String) {
        self.oldState = oldState
        self.newState = newState
    }

    /// Reads an answer. Returns nil if `newState` is missing. A row whose error cannot be read has the type
    /// `serverFail`; other malformed members count as missing.
    public init?(json: JSONObject) {
        guard let newState = json["newState"]?.string else { return nil }
        self.init(oldState: json["oldState"]?.string, newState: newState)
        created = Self.won(json["created"])
        for (creation, row) in json["created"]?.object?.members ?? [] {
            if let id = row["id"]?.string, id != creation { rowIDs[creation] = id }
        }
        updated = Self.won(json["updated"])
        destroyed = json["destroyed"]?.array?.compactMap(\.string) ?? []
        notCreated = Self.errors(json["notCreated"])
        notUpdated = Self.errors(json["notUpdated"])
        notDestroyed = Self.errors(json["notDestroyed"])
    }

    private static func won(_ json: JSON?) -> [(id: String, won: RowPatch?)] {
        (json?.object?.members ?? []).map { id, value in
            let patch = value.object.flatMap { RowPatch(json: $0) }
            let saysSomething = patch.map { patch in
                !patch.values.isEmpty || patch.generation != nil || patch.clocks != nil || patch.mergedInto != nil
            }
            return (id, saysSomething == true ? patch : nil)
        }
    }

    private static func errors(_ json: JSON?) -> [(id: String, error: SetError)] {
        (json?.object?.members ?? []).map { ($0.key, SetError(json: $0.value) ?? SetError("serverFail")) }
    }

    /// The wire form.
    ///
    /// - Parameter accountID: The account of the call, which every answer repeats.
    public func json(accountID: String) -> JSONObject {
        var object: JSONObject = ["accountId": .string(accountID)]
        object.append("oldState", oldState.map(JSON.string) ?? .null)
        object.append("newState", .string(newState))
        func add(_ name: String, _ members: [JSONObject.Member]) {
            object.append(name, members.isEmpty ? .null : .object(JSONObject(members)))
        }
        add(
            "created",
            created.map { creation in
                let id = rowIDs[creation.id] ?? creation.id
                return (creation.id, .object(creation.won?.json(id: id) ?? ["id": .string(id)]))
            })
        add("updated", updated.map { ($0.id, $0.won.map { .object($0.json()) } ?? .null) })
        object.append("destroyed", destroyed.isEmpty ? .null : .array(destroyed.map(JSON.string)))
        add("notCreated", notCreated.map { ($0.id, $0.error.json) })
        add("notUpdated", notUpdated.map { ($0.id, $0.error.json) })
        add("notDestroyed", notDestroyed.map { ($0.id, $0.error.json) })
        return object
    }
}
