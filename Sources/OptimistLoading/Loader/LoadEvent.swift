// This source file is part of the Optimist open source project, under the MIT licence.

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
