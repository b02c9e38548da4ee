// This source file is part of the Optimist open source project, under the MIT licence.

/// A timestamp of a hybrid logical clock: 48 bits of milliseconds since 1970 and a 16-bit counter.
public struct Stamp: Hashable, Comparable, Sendable {
    /// Milliseconds in the upper 48 bits, the counter in the lower 16. Positive until the year 6429.
    public let rawValue: Int64

    /// A stamp earlier than any stamp a clock issues.
    public static let zero = Stamp(rawValue: 0)

    /// Makes a stamp from its 64 bits, unchecked.
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// Makes a stamp from a time of day and a counter.
    ///
    /// - Parameters:
    ///   - milliseconds: Milliseconds since 1970 in UTC, from 0 to 2^47 - 1. The upper bits of larger values are lost.
    ///   - counter: Orders the stamps of one millisecond. Default: 0.
    public init(milliseconds: Int64, counter: UInt16 = 0) { rawValue = milliseconds << 16 | Int64(counter) }

    /// The time of day, in milliseconds since 1970 in UTC. It may be ahead of the writer's clock, if that clock went
    /// backwards or the counter overflowed.
    public var milliseconds: Int64 { rawValue >> 16 }
    /// Orders the stamps of one millisecond.
    public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }
    /// The next stamp. If the counter is full, the milliseconds advance by one.
    package var successor: Stamp { Stamp(rawValue: rawValue + 1) }

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A hybrid logical clock: it stays close to the time of day and never goes backwards.
///
/// > Source: Kulkarni, Demirbas, Madappa, Avva and Leone, "Logical Physical Clocks", OPODIS 2014.
package struct HybridClock: Sendable, Equatable {
    /// The last stamp issued or seen.
    package private(set) var last: Stamp

    /// Makes a clock that issues stamps later than `last`.
    ///
    /// - Parameter last: The last stamp that the device issued or saw, from storage. Default: none.
    package init(last: Stamp = .zero) { self.last = last }

    /// Returns a stamp later than every stamp issued or seen before.
    ///
    /// - Parameter milliseconds: The time of day, in milliseconds since 1970 in UTC. If it went backwards, only the
    ///   counter advances.
    package mutating func tick(milliseconds: Int64) -> Stamp {
        last = max(last.successor, Stamp(milliseconds: milliseconds))
        return last
    }

    /// Records another machine's stamp, so that the next tick is later. An earlier stamp changes nothing.
    package mutating func witness(_ stamp: Stamp) { last = max(last, stamp) }
}
