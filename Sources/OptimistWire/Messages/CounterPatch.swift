// This source file is part of the Optimist open source project, under the MIT licence.

/// A change to a counter: running totals or, from clients that do not keep totals, an amount to add.
public enum CounterPatch: Hashable, Sendable {
    /// The running total of one origin.
    public struct Total: Hashable, Sendable {
        /// The sum of all the origin's additions, not one change. Its magnitude is at most ``CounterPatch/limit``.
        public var total: Int64
        /// The device id under which the amount was counted. Nil: the device of the column's clock in the patch.
        public var origin: String?
        /// The clock of the origin's latest addition. Nil: the column's clock in the patch.
        public var clock: WriteClock?

        /// Makes a total. By default, the column's clock in the patch supplies the origin and the clock.
        public init(_ total: Int64, origin: String? = nil, clock: WriteClock? = nil) {
            self.total = total
            self.origin = origin
            self.clock = clock
        }
    }

    /// The totals of one or more origins. Safe to repeat: for each origin, the later clock wins.
    case totals([Total])
    /// An amount to add, for clients without clocks. Not safe to repeat: the server adds it each time.
    case add(Int64)

    /// The largest magnitude of a total or amount, 2^53. Every JSON parser represents integers exactly up to this
    /// value.
    public static let limit: Int64 = 1 << 53

    /// Reads `{"@total": n}`, a list of `{"@total": n, "origin": "…", "@hlc": "…"}`, or `{"@add": n}`.
    ///
    /// Returns nil for anything else, for an empty list, and for a number beyond ``limit``.
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

    /// The wire form: an object for a single total without origin and clock or for an amount, otherwise a list.
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
            guard let text = origin.string, WriteClock.isDeviceID(text) else { return nil }
            self.origin = text
        }
        if let hlc = json["@hlc"] {
            guard let clock = hlc.string.flatMap({ WriteClock($0) }) else { return nil }
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
