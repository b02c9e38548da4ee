// This source file is part of the Optimist open source project, under the MIT licence.

/// Some columns of a row with their clocks: what a push carries up and a page carries down.
///
/// On the wire the columns stand beside `id`, `@gen`, `@hlc` and, in a page, `@seq`. No column starts with "@".
public struct RowPatch: Hashable, Sendable {
    /// The life that the patch belongs to, an odd number. Nil if the sender omits it: life 1 with clocks, the row's
    /// present life without.
    public var generation: Int?
    /// The clock of the delete. Nil in a push of a client that has none: without one a delete ends no later life.
    public var clocks: ColumnClocks?
    /// The number of the row's last transaction on the server. The server sets it; a push has none.
    public var seq: Int64?
    /// The columns by name, without `id` and without the members that begin with "@". A row in a page has all columns
    /// that were ever written, a push those that changed.
    public var values: JSONObject
    /// What the sums of counters contain of the device's own counting: by column, then by origin, the total that the
    /// server has. Only from the server.
    public var mine: [String: [String: Int64]]
    /// The id of the row that this one was merged into, because both had the same unique values. Only from the server.
    public var mergedInto: String?
    /// The clocks of the values that the user had read where this patch writes. The patch replaces any other value
    /// without its writer's knowledge. In a later life: the clocks of the former life, which the patch replaces. Nil:
    /// the sender does not say, or it knew nothing of the row. Only in a push.
    public var read: ColumnClocks?
    /// The values that a device replaced without having read them. Only from the server.
    public var unread = UnreadClocks()

    /// Makes a patch. Without arguments it is empty, and belongs to no stated life.
    public init(
        generation: Int? = nil, clocks: ColumnClocks? = nil, seq: Int64? = nil, values: JSONObject = [:],
        mine: [String: [String: Int64]] = [:], mergedInto: String? = nil
    ) {
        self.generation = generation
        self.clocks = clocks
        self.seq = seq
        self.values = values
        self.mine = mine
        self.mergedInto = mergedInto
    }

    /// Reads a patch. Returns nil if `@gen` or `@hlc` is malformed. Other members that begin with "@" are ignored if
    /// they are unknown or malformed.
    public init?(json: JSONObject) {
        self.init()
        values = JSONObject(json.members.filter { $0.key != "id" && !$0.key.hasPrefix("@") })
        if let value = json["@gen"] {
            guard let generation = value.int, (0...Int64(Int32.max)).contains(generation) else { return nil }
            self.generation = Int(generation)
        }
        if let value = json["@hlc"] {
            guard let clocks = ColumnClocks(json: value) else { return nil }
            self.clocks = clocks
        }
        seq = json["@seq"]?.int
        mergedInto = json["@mergedInto"]?.string
        read = json["@read"].flatMap { ColumnClocks(json: $0) }
        unread = UnreadClocks(json: json["@unread"])
        for (column, totals) in json["@mine"]?.object?.members ?? [] {
            for (origin, total) in totals.object?.members ?? [] { mine[column, default: [:]][origin] = total.int }
        }
    }

    /// The wire form.
    ///
    /// - Parameter id: The row's id, which pages carry and pushes do not. Default: none. Without it, `@gen` is omitted
    ///   in life 1.
    public func json(id: String? = nil) -> JSONObject {
        var members: [JSONObject.Member] = []
        members.reserveCapacity(values.count + 4)
        if let id { members.append(("id", .string(id))) }
        members += values.members
        if let generation, generation != 1 || id != nil { members.append(("@gen", .int(Int64(generation)))) }
        if let clocks { members.append(("@hlc", clocks.json)) }
        if let seq { members.append(("@seq", .int(seq))) }
        if let mergedInto { members.append(("@mergedInto", .string(mergedInto))) }
        if !mine.isEmpty { members.append(("@mine", RowPatch.json(ofMine: mine))) }
        if let read { members.append(("@read", read.json)) }
        if !unread.isEmpty { members.append(("@unread", unread.json)) }
        return JSONObject(members)
    }
}

extension RowPatch {
    /// The wire form of ``mine``, sorted by column and origin.
    package static func json(ofMine mine: [String: [String: Int64]]) -> JSON {
        func sorted<Value>(_ members: [String: Value], _ json: (Value) -> JSON) -> JSON {
            .object(JSONObject(members.sorted { $0.key < $1.key }.map { ($0.key, json($0.value)) }))
        }
        return sorted(mine) { sorted($0, JSON.int) }
    }
}

/// How a row was deleted: the life that the delete begins, and its clock.
public struct Tombstone: Hashable, Sendable {
    /// The life that the delete begins, an even number: one more than the life that it ends.
    public var generation: Int
    /// The clock of the delete. Nil in a push: the server stamps it, or the device does not know it any more. An
    /// earlier edit never outlives the delete by it.
    public var clock: WriteClock?
    /// The number of the transaction that deleted the row. Only from the server.
    public var seq: Int64?
    /// The id of the row that this one was merged into, because both had the same unique values. Only from the server.
    public var mergedInto: String?
    /// The clocks of the row's values that the user had read before the delete. The delete ends any other value without
    /// its writer's knowledge. Nil: the sender does not say. Only in a push.
    public var read: ColumnClocks?
    /// The values that a device replaced, or ended with the row, without having read them. Only from the server.
    public var unread = UnreadClocks()

    /// Makes a tombstone from its parts.
    public init(generation: Int, clock: WriteClock?, seq: Int64? = nil, mergedInto: String? = nil) {
        self.generation = generation
        self.clock = clock
        self.seq = seq
        self.mergedInto = mergedInto
    }

    /// Reads a tombstone. Returns nil if `@gen` is missing, negative or beyond 31 bits. A malformed `@hlc` counts as
    /// missing.
    public init?(json: JSON) {
        guard let generation = json["@gen"]?.int, (0...Int64(Int32.max)).contains(generation) else { return nil }
        self.init(
            generation: Int(generation), clock: json["@hlc"]?.string.flatMap { WriteClock($0) }, seq: json["@seq"]?.int,
            mergedInto: json["@mergedInto"]?.string)
        read = json["@read"].flatMap { ColumnClocks(json: $0) }
        unread = UnreadClocks(json: json["@unread"])
    }

    /// The wire form. Members that are nil are omitted.
    public var json: JSON {
        var object: JSONObject = ["@gen": .int(Int64(generation))]
        if let clock { object.append("@hlc", .string(clock.description)) }
        if let seq { object.append("@seq", .int(seq)) }
        if let mergedInto { object.append("@mergedInto", .string(mergedInto)) }
        if let read { object.append("@read", read.json) }
        if !unread.isEmpty { object.append("@unread", unread.json) }
        return .object(object)
    }
}
