// This source file is part of the Optimist open source project, under the MIT licence.

/// Some columns of a row with their clocks: what a push carries up and a page carries down.
///
/// On the wire the columns stand beside `id`, `@gen`, `@hlc` and, in a page, `@seq`. No column starts with "@".
public struct RowPatch: Hashable, Sendable {
    /// The life the patch belongs to. Nil where the sender did not say.
    public var generation: Int?
    /// Nil where the sender has no clocks of its own: the server stamps.
    public var clocks: ColumnClocks?
    /// The row's last transaction. Only from the server.
    public var seq: Int64?
    public var values: JSONObject
    /// Of counters, the totals of the origins that the device asked for: what the values hold of them. Only from the
    /// server.
    public var mine: [String: [String: Int64]]
    /// The row that this one has become one with. Only from the server.
    public var mergedInto: String?

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

    /// Reads a patch. Nil if a member that starts with "@" is not what it must be; unknown ones are ignored.
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
        for (column, totals) in json["@mine"]?.object?.members ?? [] {
            for (origin, total) in totals.object?.members ?? [] { mine[column, default: [:]][origin] = total.int }
        }
    }

    /// The wire form, with the row's id first if there is one to say.
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
        return JSONObject(members)
    }
}

extension RowPatch {
    /// The wire form of ``mine``.
    public static func json(ofMine mine: [String: [String: Int64]]) -> JSON {
        func sorted<Value>(_ members: [String: Value], _ json: (Value) -> JSON) -> JSON {
            .object(JSONObject(members.sorted { $0.key < $1.key }.map { ($0.key, json($0.value)) }))
        }
        return sorted(mine) { sorted($0, JSON.int) }
    }
}

/// The generation and the clock of a deleted row.
public struct Tombstone: Hashable, Sendable {
    public var generation: Int
    public var clock: Clock?
    public var seq: Int64?
    /// The row that this one has become one with. Only from the server.
    public var mergedInto: String?

    public init(generation: Int, clock: Clock?, seq: Int64? = nil, mergedInto: String? = nil) {
        self.generation = generation
        self.clock = clock
        self.seq = seq
        self.mergedInto = mergedInto
    }

    public init?(json: JSON) {
        guard let generation = json["@gen"]?.int, (0...Int64(Int32.max)).contains(generation) else { return nil }
        self.init(
            generation: Int(generation), clock: json["@hlc"]?.string.flatMap { Clock($0) }, seq: json["@seq"]?.int,
            mergedInto: json["@mergedInto"]?.string)
    }

    public var json: JSON {
        var object: JSONObject = ["@gen": .int(Int64(generation))]
        if let clock { object.append("@hlc", .string(clock.description)) }
        if let seq { object.append("@seq", .int(seq)) }
        if let mergedInto { object.append("@mergedInto", .string(mergedInto)) }
        return .object(object)
    }
}
