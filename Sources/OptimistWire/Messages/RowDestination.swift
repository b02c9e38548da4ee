// This source file is part of the Optimist open source project, under the MIT licence.

/// Where a row that left an account has moved to: `@movedTo` in its tombstone.
public struct RowDestination: Hashable, Sendable {
    /// The account's id.
    public var account: String
    /// The generation in which the row arrived there.
    public var generation: Int
    /// The clock of the column that moved the row: its space, or the key of its parent. Nil if the column has none.
    public var clock: WriteClock?

    /// Makes a destination from its parts.
    public init(account: String, generation: Int, clock: WriteClock?) {
        self.account = account
        self.generation = generation
        self.clock = clock
    }

    /// Reads a destination. Returns nil if the account or the generation is missing.
    init?(json: JSON) {
        guard let account = json["account"]?.string, let generation = json["@gen"]?.int,
            (1...Int64(Int32.max)).contains(generation)
        else { return nil }
        self.init(
            account: account, generation: Int(generation), clock: json["@hlc"]?.string.flatMap { WriteClock($0) })
    }

    var json: JSON {
        var object: JSONObject = ["account": .string(account), "@gen": .int(Int64(generation))]
        if let clock { object.append("@hlc", .string(clock.description)) }
        return .object(object)
    }
}
