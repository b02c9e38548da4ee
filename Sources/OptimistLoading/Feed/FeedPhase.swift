// This source file is part of the Optimist open source project, under the MIT licence.

/// How far loading the value of an item has come.
public enum FeedPhase<Value: Sendable>: Sendable {
    /// There is no value: the item has its place, of the size that its page gave it. Every item far from the screen is
    /// in this phase.
    case placeholder
    /// A value that will be replaced: a part of it, or one that has expired. If fetching a newer one fails, it stays, with the
    /// error that the fetch threw. See ``Feed/retry(_:)``.
    case stale(Value, failure: (any Error)? = nil)
    /// The value, whole and not expired.
    case loaded(Value)
    /// Fetching failed with this error, which the fetch threw. See ``Feed/retry(_:)``. The feed also tries again when
    /// the item leaves the screen and comes back.
    case failed(any Error)

    /// The value to show, if there is one.
    public var value: Value? {
        switch self {
        case .stale(let value, _), .loaded(let value): value
        case .placeholder, .failed: nil
        }
    }

    /// Why the last fetch of the value failed. Nil: it did not.
    public var failure: (any Error)? {
        switch self {
        case .stale(_, let failure): failure
        case .failed(let error): error
        case .placeholder, .loaded: nil
        }
    }
}
