// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// What a ``DiskCache`` holds, and what happened to it since it was made.
public struct DiskCounts: Sendable {
    /// How many entries it holds.
    public var entries = 0
    /// The size of the files that this cache knows, in bytes, including entries that are no longer valid.
    public var bytes = 0
    /// Reads that found a sound entry, also those that a source confirmed.
    public var hits = 0
    /// Reads that found none, for whatever reason.
    public var misses = 0
    /// Entries that were torn, truncated or changed when they were read. Each was a miss, too.
    public var damagedEntries = 0
    /// Writes that failed. After one, the cache writes nothing for 10 seconds.
    public var failedWrites = 0
    /// Why the last failed write failed, in words to show. Nil if none failed.
    public var lastFailure: OptimistError?
}
