// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// The size of a ``DiskCache``, and its activity since it was created.
public struct DiskCounts: Sendable {
    /// The number of entries.
    public var entries = 0
    /// The size of the known files in bytes, including entries that are no longer valid.
    public var bytes = 0
    /// Reads that found a valid entry, including reads for a revalidation.
    public var hits = 0
    /// Reads that did not find a valid entry, for any reason.
    public var misses = 0
    /// Entries that were torn, truncated or changed when they were read. Each also counts as a miss.
    public var damagedEntries = 0
    /// Failed writes. After a failure, the cache writes nothing for 10 seconds.
    public var failedWrites = 0
    /// The error of the last failed write, with a message to display. Nil if none failed.
    public var lastFailure: OptimistError?
}
