// This source file is part of the Optimist open source project, under the MIT licence.

/// What a push says of a counter: running totals, or for clients that keep none, an amount to add.
public enum CounterPatch: Hashable, Sendable {
    /// The running total of an origin. Without an origin or a clock, those of the column's clock in the patch.
    public struct Total: Hashable, Sendable {
        public var total: Int64
        public var origin: String?
        public var clock: Clock?

        public init(_ total: Int64, origin: String? = nil, clock: Clock? = nil) {
            self.total = total
            self.origin = origin
            self.clock = clock
        }
    }

    case totals([Total])
    /// Not safe to repeat.
    case add(Int64)

    /// The largest total or amount either way: what a number of JSON holds exactly.
    public static let limit: Int64 = 1 << 53

    /// Reads `{"@total": n}`, a list of `{"@total": n, "origin": "…", "@hlc": "…"}`, or `{"@add": n}`. Nil for all else.
    public init?(json: JSON) {
        if let amount = json["@add"] {
            guard let amount = amount.int, amount.magnitude <= Self.limit else { return nil }
            self = .add(amount)
            return
        }
        guard let entries = json.array ?? (json.object == nil ? nil : [json]) else { return nil }
        let totals = entries.map { Total(json: $0) }
        guard !totals.isEmpty, !totals.contains(nil) else { return nil }
        self = .totals(totals.compactMap(\.self))
    }

    public var json: JSON {
        switch self {
        case .add(let amount): ["@add": .int(amount)]
        case .totals(let totals) where totals.count == 1 && totals[0].origin == nil && totals[0].clock == nil:
            totals[0].json
        case .totals(let totals): .array(totals.map(\.json))
        }
    }
}

extension CounterPatch.Total {
    fileprivate init?(json: JSON) {
        guard let total = json["@total"]?.int, total.magnitude <= CounterPatch.limit else { return nil }
        self.init(total)
        if let origin = json["origin"] {
            guard let text = origin.string, Clock.isDeviceID(text) else { return nil }
            self.origin = text
        }
        if let hlc = json["@hlc"] {
            guard let clock = hlc.string.flatMap({ Clock($0) }) else { return nil }
            self.clock = clock
        }
    }

    fileprivate var json: JSON {
        var object: JSONObject = ["@total": .int(total)]
        if let origin { object.append("origin", .string(origin)) }
        if let clock { object.append("@hlc", .string(clock.description)) }
        return .object(object)
    }
}
