// This source file is part of the Optimist open source project, under the MIT licence.

/// How much a ``DiskCache`` stores, and for how long.
public struct DiskLimits: Sendable, Equatable {
    /// The most that all files in the folder may occupy together. Default: 150 MB. About an eighth is working space.
    public let sizeBytes: Int
    /// How long an entry stays after it was last stored or used. Default: 30 days. Nil: until its room is needed.
    ///
    /// To save writes, the time of use is recorded to a sixteenth of this age. An entry may expire early by that much.
    public let age: Duration?
    /// The largest entry that is stored, in bytes. Default: an eighth of `sizeBytes`.
    public let largestEntryBytes: Int

    /// Creates limits. A negative size stops the program.
    ///
    /// - Parameters:
    ///   - sizeBytes: Default: 150 MB.
    ///   - age: Default: 30 days. Nil: until its room is needed.
    ///   - largestEntryBytes: Default: nil, an eighth of `sizeBytes`.
    public init(sizeBytes: Int = 150_000_000, age: Duration? = .seconds(30 * 86_400), largestEntryBytes: Int? = nil) {
        precondition(sizeBytes >= 0, "The size of a cache must not be negative.")
        self.sizeBytes = sizeBytes
        self.age = age
        self.largestEntryBytes = largestEntryBytes ?? sizeBytes / 8
    }
}

extension DiskLimits {
    /// The largest shared segment, and the space that is kept free for moving entries.
    var segmentBytes: Int { min(max(sizeBytes / 16, 4096), 4 << 20) }

    /// How many bytes of new files a cache creates before it lists the folder again.
    var uncountedBytes: Int { sizeBytes / 32 }

    /// The most that listed files may occupy. The rest is for moving entries, and for files that two caches create
    /// before they list the folder again. Each further cache may exceed the limit by 1/32.
    var usableBytes: Int { sizeBytes - segmentBytes - 2 * uncountedBytes }

    var ageSeconds: Int64? { age.map(\.components.seconds) }
}
