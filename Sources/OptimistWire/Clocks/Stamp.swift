// This source file is part of the Optimist open source project, under the MIT licence.

/// A moment of a hybrid logical clock: 48 bits of milliseconds since 1970 and 16 bits that count within one.
public struct Stamp: Hashable, Comparable, Sendable {
    /// Milliseconds in the upper 48 bits, the counter in the lower 16. Positive until the year 6429.
    public let rawValue: Int64

    /// Earlier than every stamp that a clock gives.
    public static let zero = Stamp(rawValue: 0)

    public init(rawValue: Int64) { self.rawValue = rawValue }
    public init(milliseconds: Int64, counter: UInt16 = 0) { rawValue = milliseconds << 16 | Int64(counter) }

    public var milliseconds: Int64 { rawValue >> 16 }
    public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }
    /// The next stamp. When the counter is full, the milliseconds move on.
    public var successor: Stamp { Stamp(rawValue: rawValue + 1) }

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A hybrid logical clock: close to the time of day, and never backwards.
///
/// > Source: Kulkarni, Demirbas, Madappa, Avva and Leone, "Logical Physical Clocks", OPODIS 2014.
public struct HybridClock: Sendable, Equatable {
    /// The last stamp given or seen.
    public private(set) var last: Stamp

    public init(last: Stamp = .zero) { self.last = last }

    /// Returns a stamp later than every one given or seen before.
    ///
    /// - Parameter milliseconds: The time of day, since 1970. A wrong one is followed forwards, never backwards.
    public mutating func tick(milliseconds: Int64) -> Stamp {
        last = max(last.successor, Stamp(milliseconds: milliseconds))
        return last
    }

    /// Takes note of another machine's stamp, so that the next tick is later.
    public mutating func witness(_ stamp: Stamp) { last = max(last, stamp) }
}
