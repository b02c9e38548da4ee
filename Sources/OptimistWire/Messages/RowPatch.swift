// This source file is part of the Optimist open source project, under the MIT licence.

/// Some columns of a row with their clocks, in a push or a page.
///
/// On the wire, an object with the columns and `id`, `@gen`, `@hlc` and, in a page, `@seq`. No column starts with "@".
public struct RowPatch: Hashable, Sendable {
    /// The generation that the patch belongs to, an odd number. If nil, the patch belongs to generation 1 if it has
    /// clocks, otherwise to the row's current generation.
    public var generation: Int?
    /// The clocks of the columns. Nil in a push from a client without clocks: the server stamps the write.
    public var clocks: ColumnClocks?
    /// The row's last transaction on the server. Set only by the server.
    public var seq: Int64?
    /// The columns by name, without `id` and members that begin with "@". A row in a page has every column ever
    /// written; a push has only the changed ones.
    public var values: JSONObject
    /// The device's own share of counter sums: the server's totals by column and origin. Set only by the server.
    public var mine: [String: [String: Int64]]
    /// The id of the row that this one was merged into, because both had the same unique values. Set only by the
    /// server.
    public var mergedInto: String?
    /// The earliest life that continues in ``generation``. Nil: no earlier life does, or the row has never moved
    /// between accounts.
    public var firstLife: Int?
    /// The clocks of the values that the user had seen in the columns that this patch writes. Any other value that it
    /// replaces is unread. In a patch of a later generation: the clocks of the former generation, which the patch
    /// replaces. Nil: not reported, or the sender knew nothing of the row. Only in a push.
    public var read: ColumnClocks?
    /// The clocks of values that a device replaced without having seen them. Set only by the server.
    public var unread = UnreadClocks()

    /// Makes a patch. By default it is empty and without a generation.
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
        firstLife = json["@first"].life
        read = json["@read"].flatMap { ColumnClocks(json: $0) }
        unread = UnreadClocks(json: json["@unread"])
        for (column, totals) in json["@mine"]?.object?.members ?? [] {
            for (origin, total) in totals.object?.members ?? [] { mine[column, default: [:]][origin] = total.int }
        }
    }

    /// The wire form.
    ///
    /// - Parameter id: The row's id, present in pages but not in pushes. Default: none. Without it, `@gen` is omitted
    ///   for generation 1.
    public func json(id: String? = nil) -> JSONObject {
        var members: [JSONObject.Member] = []
        members.reserveCapacity(values.count + 4)
        if let id { members.append(("id", .string(id))) }
        members += values.members
        if let generation, generation != 1 || id != nil { members.append(("@gen", .int(Int64(generation)))) }
        if let clocks { members.append(("@hlc", clocks.json)) }
        if let seq { members.append(("@seq", .int(seq))) }
        if let mergedInto { members.append(("@mergedInto", .string(mergedInto))) }
        if let firstLife { members.append(("@first", .int(Int64(firstLife)))) }
        if !mine.isEmpty { members.append(("@mine", RowPatch.json(ofMine: mine))) }
        if let read { members.append(("@read", read.json)) }
        if !unread.isEmpty { members.append(("@unread", unread.json)) }
        return JSONObject(members)
    }
}

extension RowPatch {
    package static func json(ofMine mine: [String: [String: Int64]]) -> JSON {
        func sorted<Value>(_ members: [String: Value], _ json: (Value) -> JSON) -> JSON {
            .object(JSONObject(members.sorted { $0.key < $1.key }.map { ($0.key, json($0.value)) }))
        }
        return sorted(mine) { sorted($0, JSON.int) }
    }
}

/// The deletion of a row: the generation it starts, and its clock.
public struct Tombstone: Hashable, Sendable {
    /// The generation that the delete starts, an even number: the deleted generation plus one.
    public var generation: Int
    /// The clock of the delete. Nil in a push if the server should stamp the delete, or if the device has lost the
    /// clock. A delete without a clock never loses to an earlier edit.
    public var clock: WriteClock?
    /// The transaction that deleted the row. Set only by the server.
    public var seq: Int64?
    /// The id of the row that this one was merged into, because both had the same unique values. Set only by the
    /// server.
    public var mergedInto: String?
    /// Where the row has moved to. Nil: the row has ended. Set only by the server.
    public var movedTo: RowDestination?
    /// The earliest life that continued in the deleted one. Nil: no earlier life did, or the row has never moved between
    /// accounts.
    public var firstLife: Int?
    /// The clocks of the row's values that the user had seen before the delete. Any other value that it deletes is
    /// unread. Nil: not reported. Only in a push.
    public var read: ColumnClocks?
    /// The clocks of values that a device replaced, or deleted with the row, without having seen them. Set only by the
    /// server.
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
        movedTo = json["@movedTo"].flatMap { RowDestination(json: $0) }
        firstLife = json["@first"].life
        read = json["@read"].flatMap { ColumnClocks(json: $0) }
        unread = UnreadClocks(json: json["@unread"])
    }

    /// The wire form. Nil members are omitted.
    public var json: JSON {
        var object: JSONObject = ["@gen": .int(Int64(generation))]
        if let clock { object.append("@hlc", .string(clock.description)) }
        if let seq { object.append("@seq", .int(seq)) }
        if let mergedInto { object.append("@mergedInto", .string(mergedInto)) }
        if let movedTo { object.append("@movedTo", movedTo.json) }
        if let firstLife { object.append("@first", .int(Int64(firstLife))) }
        if let read { object.append("@read", read.json) }
        if !unread.isEmpty { object.append("@unread", unread.json) }
        return .object(object)
    }
}

extension JSON? {
    /// The number of a life, or nil if the value is malformed.
    fileprivate var life: Int? {
        self?.int.flatMap { (1...Int64(Int32.max)).contains($0) ? Int($0) : nil }
    }
}
