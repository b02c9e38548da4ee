// This source file is part of the Optimist open source project, under the MIT licence.

/// Some columns of a row with their clocks: what a push carries up and a page carries down.
///
/// On the wire the columns stand beside `id`, `@gen`, `@hlc` and, in a page, `@seq` and `@mine`. No column starts with "@".
public struct RowPatch: Hashable, Sendable {
    /// The life the patch belongs to. Nil where the sender did not say.
    public var generation: Int?
    /// Nil where the sender has no clocks of its own: the server stamps.
    public var clocks: ColumnClocks?
    /// The row's last transaction. Only from the server.
    public var seq: Int64?
    /// What the sums of counters contain of the totals of the device that asks, by column and device id. Only from the server.
    public var mine: [String: [String: Int64]] = [:]
    public var values: JSONObject

    public init(
        generation: Int? = nil, clocks: ColumnClocks? = nil, seq: Int64? = nil, mine: [String: [String: Int64]] = [:],
        values: JSONObject = [:]
    ) {
        self.generation = generation
        self.clocks = clocks
        self.seq = seq
        self.mine = mine
        self.values = values
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
        if let value = json["@mine"] {
            guard let mine = Self.totals(value) else { return nil }
            self.mine = mine
        }
    }

    private static func totals(_ json: JSON) -> [String: [String: Int64]]? {
        guard let columns = json.object else { return nil }
        var totals: [String: [String: Int64]] = [:]
        for (column, devices) in columns {
            guard let devices = devices.object else { return nil }
            for (device, value) in devices {
                guard let total = value.int else { return nil }
                totals[column, default: [:]][device] = total
            }
        }
        return totals
    }

    private var mineJSON: JSON {
        .object(
            JSONObject(
                mine.sorted { $0.key < $1.key }.map { column, totals in
                    (column, .object(JSONObject(totals.sorted { $0.key < $1.key }.map { ($0.key, .int($0.value)) })))
                }))
    }

    /// The wire form, with the row's id first if there is one to say.
    public func json(id: String? = nil) -> JSONObject {
        var members: [JSONObject.Member] = []
        members.reserveCapacity(values.count + 5)
        if let id { members.append(("id", .string(id))) }
        members += values.members
        if let generation, generation != 1 || id != nil { members.append(("@gen", .int(Int64(generation)))) }
        if let clocks { members.append(("@hlc", clocks.json)) }
        if let seq { members.append(("@seq", .int(seq))) }
        if !mine.isEmpty { members.append(("@mine", mineJSON)) }
        return JSONObject(members)
    }
}

/// The generation and the clock of a deleted row.
public struct Tombstone: Hashable, Sendable {
    public var generation: Int
    public var clock: Clock?
    public var seq: Int64?

    public init(generation: Int, clock: Clock?, seq: Int64? = nil) {
        self.generation = generation
        self.clock = clock
        self.seq = seq
    }

    public init?(json: JSON) {
        guard let generation = json["@gen"]?.int, (0...Int64(Int32.max)).contains(generation) else { return nil }
        self.init(
            generation: Int(generation), clock: json["@hlc"]?.string.flatMap { Clock($0) }, seq: json["@seq"]?.int)
    }

    public var json: JSON {
        var object: JSONObject = ["@gen": .int(Int64(generation))]
        if let clock { object.append("@hlc", .string(clock.description)) }
        if let seq { object.append("@seq", .int(seq)) }
        return .object(object)
    }
}
