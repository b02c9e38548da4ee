// This source file is part of the Optimist open source project, under the MIT licence.

/// The arguments of `T/set`: rows to create, update and destroy.
package struct SetCall: Hashable, Sendable {
    /// The account to write to: one of ``SessionResource/accounts``.
    package var accountID: String
    /// If set, the server refuses the call with `stateMismatch` unless the account is in this state.
    package var ifInState: String?
    /// The rows to create, by creation id. A lower-case UUID becomes the row's id.
    package var create: [(id: String, patch: RowPatch)] = []
    /// The rows to update by id, each with the changed columns.
    package var update: [(id: String, patch: RowPatch)] = []
    /// The rows to delete by id. Without a tombstone the server ends the row's current generation now.
    package var destroy: [(id: String, tombstone: Tombstone?)] = []

    package init(accountID: String, ifInState: String? = nil) {
        self.accountID = accountID
        self.ifInState = ifInState
    }

    /// The number of rows in the call, at most ``RowSync/Limit/rowsInSet``.
    package var rowCount: Int { create.count + update.count + destroy.count }

    /// Reads the arguments. Returns nil if `accountId` is missing, or if a member, row or tombstone is malformed.
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
            // Ignoring a malformed tombstone would turn this delete into a different one, stamped now.
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

/// Why the server did not apply a row of a `/set` call.
public struct SetError: Hashable, Sendable {
    /// A type from RFC 8620 §5.3 or Documentation/Protocol.md. For an unknown type, keep the row and retry later.
    public var type: String
    /// A sentence for people. Nil if the server omits it.
    public var description: String?
    /// The invalid columns. Empty: the row as a whole is invalid, or the server does not name columns.
    public var properties: [String]
    /// The rows, as `Type:id`, that this row waits for.
    package var blockedBy: [String]
    /// The server's row. Nil: the server does not have the row, or does not report it.
    package var current: RowPatch?
    /// The seconds to wait before sending the row again. Nil: the client decides.
    package var retryAfterSeconds: Double?
    /// In a `uniqueViolation`, the id of the row that holds the values.
    @_spi(Internals) public var winner: String?
    /// In a `notFound`, the row's deletion.
    package var deletion: Tombstone?
    /// The app's error code, such as ``RowFault/code``. Nil if the type is sufficient.
    public var code: String?

    /// Makes an error. By default it has only a type.
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

    /// Reads an error. Returns nil without a `type`; other missing or malformed members count as nil or empty.
    package init?(json: JSON) {
        guard let type = json["type"]?.string else { return nil }
        self.init(
            type, json["description"]?.string, properties: json["properties"]?.array?.compactMap(\.string) ?? [],
            blockedBy: json["by"]?.array?.compactMap(\.string) ?? [],
            current: json["current"]?.object.flatMap { RowPatch(json: $0) },
            retryAfterSeconds: json["retryAfter"]?.double, winner: json["winner"]?.string,
            deletion: json["deletion"].flatMap { Tombstone(json: $0) }, code: json["code"]?.string)
    }

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
    /// The created rows by creation id, each with the server's values that won and their clocks. Nil: the row is
    /// exactly as sent.
    public var created: [(id: String, won: RowPatch?)] = []
    /// The rows' ids by creation id, for ids that the server chose. Empty for clients that use UUIDs as creation ids.
    public var rowIDs: [String: String] = [:]
    /// The updated rows by id, each with the server's values that won and their clocks. Nil: the columns are exactly as
    /// sent.
    public var updated: [(id: String, won: RowPatch?)] = []
    public var destroyed: [String] = []
    /// The tombstones of destroyed rows that moved to another account. Only in the answer that follows a `/copy`.
    public var tombstones: [String: Tombstone] = [:]
    /// The rows that were not created, by creation id.
    public var notCreated: [(id: String, error: SetError)] = []
    public var notUpdated: [(id: String, error: SetError)] = []
    public var notDestroyed: [(id: String, error: SetError)] = []

    public init(oldState: String?, newState: String) {
        self.oldState = oldState
        self.newState = newState
    }

    /// Reads an answer. Returns nil if `newState` is missing. An unreadable error becomes `serverFail`; other malformed
    /// members count as missing.
    public init?(json: JSONObject) {
        guard let newState = json["newState"]?.string else { return nil }
        self.init(oldState: json["oldState"]?.string, newState: newState)
        created = Self.won(json["created"])
        for (creation, row) in json["created"]?.object?.members ?? [] {
            if let id = row["id"]?.string, id != creation { rowIDs[creation] = id }
        }
        updated = Self.won(json["updated"])
        destroyed = json["destroyed"]?.array?.compactMap(\.string) ?? []
        for (id, value) in json["destroyClocks"]?.object?.members ?? [] { tombstones[id] = Tombstone(json: value) }
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
        if !tombstones.isEmpty {
            let sorted = tombstones.sorted { $0.key < $1.key }
            object.append("destroyClocks", .object(JSONObject(sorted.map { ($0.key, $0.value.json) })))
        }
        add("notCreated", notCreated.map { ($0.id, $0.error.json) })
        add("notUpdated", notUpdated.map { ($0.id, $0.error.json) })
        add("notDestroyed", notDestroyed.map { ($0.id, $0.error.json) })
        return object
    }
}
