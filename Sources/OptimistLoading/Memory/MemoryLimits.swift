// This source file is part of the Optimist open source project, under the MIT licence.

/// How much a loader keeps in memory (C5), and as many seeds again at most.
public struct MemoryLimits: Sendable, Equatable {
    /// The most that all values together may cost, in bytes. Default: 64 MiB. Never more than 2⁶⁰.
    public let costBytes: Int
    /// The most values, and beside them the most seeds. Default: 10,000.
    public let count: Int
    /// How long a value is kept after it was stored. Nil, the default: as long as there is room.
    public let age: Duration?

    /// - Precondition: The limits are not negative. Zero keeps nothing.
    public init(costBytes: Int = 64 << 20, count: Int = 10_000, age: Duration? = nil) {
        precondition(costBytes >= 0 && count >= 0, "limits are not negative")
        self.costBytes = min(costBytes, 1 << 60)  // So that sums of a few do not overflow.
        self.count = count
        self.age = age
    }
}
