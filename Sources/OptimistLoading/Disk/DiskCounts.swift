// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// What a ``DiskCache`` holds and what has happened to it since it was made.
public struct DiskCounts: Sendable {
    public var entries = 0
    /// What has been written to the files that this cache knows, including what is no longer valid in them.
    public var bytes = 0
    /// Entries found sound, also by ``DiskCache/refresh(_:expiresAt:etag:lastModified:)``.
    public var hits = 0
    /// All asks that were not answered, for whatever reason.
    public var misses = 0
    /// Entries that were torn, truncated or changed when they were read. Each was a miss.
    public var damagedEntries = 0
    /// Attempts to write that failed. After one, nothing is written for ``DiskCache/pauseAfterFailure``.
    public var failedWrites = 0
    /// Why writing failed last, in words to show, or nil if it never did.
    public var lastFailure: OptimistError?
}
