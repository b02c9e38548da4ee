// This source file is part of the Optimist open source project, under the MIT licence.

/// Where a value came from.
public enum LoadOrigin: Sendable {
    /// The loader's memory.
    case memory
    /// The loader's disk cache.
    case disk
    /// The source, in this launch: fetched, or confirmed by it.
    case source
}

/// What a loader tells a caller that waits for a value.
public enum LoadEvent<Value: Sendable>: Sendable {
    /// How much has arrived, from 0 to 1. Only if the fetch reports it.
    case progress(Double)
    /// A partial value, such as a picture half loaded.
    case partial(Value)
    /// The value. After an expired value a newer one may follow: see ``Freshness/cachedThenRefreshed``.
    case value(Value, LoadOrigin)
    /// The error that the fetch threw.
    case failure(any Error)
}
