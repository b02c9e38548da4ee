// This source file is part of the Optimist open source project, under the MIT licence.

/// What one device has counted in one column of a row: a total that runs on, never an addition (M3).
///
/// A counter is the sum of one total for each device. Of one device the later clock wins, and of equal clocks the
/// larger total, so that sending a total again changes nothing.
public struct RunningTotal: Hashable, Sendable {
    public var total: Int64
    /// When the total was last changed, and the device whose total it is.
    public var clock: Clock

    public init(_ total: Int64, _ clock: Clock) {
        self.total = total
        self.clock = clock
    }
}

extension [RunningTotal] {
    /// Reads the value of a counter in a push: `{"@total": 3}`, whose clock is the column's, or a list of such with
    /// `"origin"` and `"@hlc"` each, after a device took another id. Nil if it is neither.
    public init?(json: JSON, clock: Clock?) {
        if let elements = json.array {
            self.init()
            for element in elements {
                guard let total = element["@total"]?.int, let clock = element["@hlc"]?.string.flatMap({ Clock($0) }),
                    element["origin"]?.string == clock.device
                else { return nil }
                append(RunningTotal(total, clock))
            }
        } else {
            guard let total = json["@total"]?.int, let clock else { return nil }
            self = [RunningTotal(total, clock)]
        }
    }

    /// The value of a counter in a push. The clock of a single total goes beside it, as the column's.
    public var json: JSON {
        if count == 1 { return ["@total": .int(self[0].total)] }
        return .array(
            map {
                [
                    "@total": .int($0.total), "origin": .string($0.clock.device),
                    "@hlc": .string($0.clock.description),
                ]
            })
    }

    /// The clock of the column that holds these totals.
    public var latestClock: Clock? { map(\.clock).max() }
}
