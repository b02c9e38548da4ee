// This source file is part of the Optimist open source project, under the MIT licence.

/// How much a ``DiskCache`` keeps, and for how long.
public struct DiskLimits: Sendable, Equatable {
    /// What all files in the folder may take together. Default: 150 MB. An eighth of it is room to work in.
    public let sizeBytes: Int
    /// How long an entry stays after it was last stored or used. Default: 30 days. Nil: until there is no room.
    ///
    /// Use is noted to a sixteenth of this, so that reading seldom writes: an entry may go that much early.
    public let age: Duration?
    /// The most bytes of one entry. Larger ones are not stored. Default: an eighth of `sizeBytes`.
    public let largestEntryBytes: Int

    /// Makes limits. A negative size stops the program.
    ///
    /// - Parameters:
    ///   - sizeBytes: Default: 150 MB.
    ///   - age: Default: 30 days. Nil: until there is no room.
    ///   - largestEntryBytes: Nil, the default: an eighth of `sizeBytes`.
    public init(sizeBytes: Int = 150_000_000, age: Duration? = .seconds(30 * 86_400), largestEntryBytes: Int? = nil) {
        precondition(sizeBytes >= 0, "A cache cannot hold fewer than no bytes.")
        self.sizeBytes = sizeBytes
        self.age = age
        self.largestEntryBytes = largestEntryBytes ?? sizeBytes / 8
    }
}

extension DiskLimits {
    /// What a segment may grow to, and what is kept free to move entries into.
    var segmentBytes: Int { min(max(sizeBytes / 16, 4096), 4 << 20) }

    /// How many bytes of files a cache makes before it counts again what is in the folder.
    var uncountedBytes: Int { sizeBytes / 32 }

    /// What all files may take when they have been counted: there is room to move entries in, and for what two caches
    /// make before they count again. Each further cache may exceed the limit by one thirty-second.
    var usableBytes: Int { sizeBytes - segmentBytes - 2 * uncountedBytes }

    /// The age in whole seconds.
    var ageSeconds: Int64? { age.map(\.components.seconds) }
}
