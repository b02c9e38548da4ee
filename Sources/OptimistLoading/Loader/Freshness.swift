// This source file is part of the Optimist open source project, under the MIT licence.

/// Whether a value that is here already will do (C7).
public enum Freshness: Sendable {
    /// One that has not expired will do; else it is fetched.
    case cached
    /// A value that is here comes at once, expired or not. If it has expired, or is a seed, it is fetched again and
    /// comes once more.
    case cachedThenRefreshed
    /// It is asked of the source in any case. A source that can tell may answer that it is unchanged.
    case fresh
}
