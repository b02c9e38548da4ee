// This source file is part of the Optimist open source project, under the MIT licence.

/// How soon somebody needs a value (C8).
public enum LoadPriority: Int, Sendable, CaseIterable, Comparable {
    /// Not on the screen yet, and perhaps never.
    case prefetch
    /// About to come onto the screen.
    case soon
    /// Somebody is looking at the place where it belongs.
    case visible

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Whether a value that is here already will do (C7).
public enum Freshness: Sendable {
    /// One that has not expired will do; else it is fetched.
    case cached
    /// One that is here comes at once, expired or not. If it has expired, or is a seed, it is fetched anew and comes once more.
    case cachedThenRefreshed
    /// It is asked of the source in any case. A source that can tell may answer that it is unchanged.
    case fresh
}

/// Where a value came from.
public enum LoadOrigin: Sendable {
    case memory, disk, source
}

/// What somebody who waits for a value is told.
public enum LoadEvent<Value: Sendable>: Sendable {
    /// How much has come, from 0 to 1, as far as the source tells.
    case progress(Double)
    /// A value that is better than none, such as a picture half loaded.
    case partial(Value)
    /// The value. After one that is expired another may follow: see ``Freshness/cachedThenRefreshed``.
    case value(Value, LoadOrigin)
    /// The error of the fetch, as it was.
    case failure(any Error)
}
