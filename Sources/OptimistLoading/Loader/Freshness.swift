// This source file is part of the Optimist open source project, under the MIT licence.

/// Whether a cached value is good enough.
public enum Freshness: Sendable {
    /// Use a cached value that has not expired. Otherwise, fetch it.
    case cached
    /// Deliver the cached value immediately, expired or not. If it has expired, or is a seed, fetch it again and
    /// deliver the result.
    case cachedThenRefreshed
    /// Always ask the source, which may confirm that a cached value is unchanged.
    case fresh
}
