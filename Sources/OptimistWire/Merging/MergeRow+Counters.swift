// This source file is part of the Optimist open source project, under the MIT licence.

/// > Source: Shapiro, Preguiça, Baquero and Zawirski, "Conflict-free Replicated Data Types", SSS 2011: a counter as a map
/// > of what each replica has added.
extension MergeRow {
    /// What a counter shows: the sum of all origins, kept within 64 bits.
    public func sum(of counter: String) -> Int64 {
        (counters[counter] ?? [:]).values.reduce(0) { sum, total in
            let (result, overflows) = sum.addingReportingOverflow(total.total)
            return overflows ? (sum > 0 ? .max : .min) : result
        }
    }
}

extension RunningTotal {
    /// Whether this total stands against another one of the same origin: later clock, then larger total.
    func wins(over other: RunningTotal) -> Bool {
        clock != other.clock ? clock > other.clock : total > other.total
    }
}
