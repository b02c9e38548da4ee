// This source file is part of the Optimist open source project, under the MIT licence.

/// The origin of a value.
public enum LoadOrigin: Sendable {
    /// The loader's memory.
    case memory
    /// The loader's disk cache.
    case disk
    /// The source. In this launch, a fetch returned the value or confirmed a cached one.
    case source
}

/// An event that a loader delivers to a caller.
public enum LoadEvent<Value: Sendable>: Sendable {
    /// The fraction received, from 0 to 1, if the fetch reports it.
    case progress(Double)
    /// A partial value, such as a picture half loaded.
    case partial(Value)
    /// The value. After an expired value, a newer one may follow: see ``Freshness/cachedThenRefreshed``.
    case value(Value, LoadOrigin)
    /// The error that the fetch threw.
    case failure(any Error)
}
