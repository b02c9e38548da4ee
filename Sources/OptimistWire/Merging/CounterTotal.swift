// This source file is part of the Optimist open source project, under the MIT licence.

/// The amount one origin has added to a counter, and the time of its latest addition.
///
/// > Source: Shapiro, Preguiça, Baquero and Zawirski, "Conflict-free Replicated Data Types", SSS 2011: a counter as a
/// > map of the amounts that each replica added.
public struct CounterTotal: Hashable, Sendable {
    /// The sum of the origin's additions, including negative amounts. Its magnitude is at most ``CounterPatch/limit``.
    public var total: Int64
    /// The clock of the origin's latest addition.
    public var clock: WriteClock

    /// Makes a total from its parts.
    public init(_ total: Int64, _ clock: WriteClock) {
        self.total = total
        self.clock = clock
    }

    /// Whether this total replaces another total of the same origin: the later clock wins, then the larger total.
    func wins(over other: CounterTotal) -> Bool {
        clock != other.clock ? clock > other.clock : total > other.total
    }
}

extension MergeRow {
    /// The value of a counter as apps see it: the sum over all origins, clamped to 64 bits. Zero for a column without
    /// totals.
    public func sum(of counter: String) -> Int64 {
        (counters[counter] ?? [:]).values.reduce(0) { sum, total in
            let (result, overflows) = sum.addingReportingOverflow(total.total)
            return overflows ? (sum > 0 ? .max : .min) : result
        }
    }
}
