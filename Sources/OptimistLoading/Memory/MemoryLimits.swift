// This source file is part of the Optimist open source project, under the MIT licence.

/// The most that a loader keeps in memory. Seeds are limited separately, by ``count``.
public struct MemoryLimits: Sendable, Equatable {
    /// The most that all values together may cost, in bytes. Default: 64 MiB. Capped at 2⁶⁰.
    public let costBytes: Int
    /// The maximum number of values, and also of seeds. Default: 10,000.
    public let count: Int
    /// The longest time that a value stays after it was stored. Default: nil, no limit.
    public let age: Duration?

    /// Creates limits.
    ///
    /// - Precondition: The limits are not negative. Zero keeps nothing.
    public init(costBytes: Int = 64 << 20, count: Int = 10_000, age: Duration? = nil) {
        precondition(costBytes >= 0 && count >= 0, "A limit must not be negative.")
        self.costBytes = min(costBytes, 1 << 60)  // Prevents overflow in small sums.
        self.count = count
        self.age = age
    }
}
