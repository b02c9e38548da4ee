// This source file is part of the Optimist open source project, under the MIT licence.

/// The loading state of an item's value.
public enum FeedPhase<Value: Sendable>: Sendable {
    /// The value is not loaded. Every item far from the screen is in this phase. The page gives the size to reserve for
    /// it.
    case placeholder
    /// A value that will be replaced: a partial or expired one. If fetching a newer value fails, this value stays, with
    /// the error of the fetch. See ``Feed/retry(_:)``.
    case stale(Value, failure: (any Error)? = nil)
    /// A complete value that has not expired.
    case loaded(Value)
    /// Fetching failed with this error. See ``Feed/retry(_:)``. The feed also tries again when the item leaves the
    /// screen and returns.
    case failed(any Error)

    /// The value to show, if any.
    public var value: Value? {
        switch self {
        case .stale(let value, _), .loaded(let value): value
        case .placeholder, .failed: nil
        }
    }

    /// The error of the last fetch. Nil if it did not fail.
    public var failure: (any Error)? {
        switch self {
        case .stale(_, let failure): failure
        case .failed(let error): error
        case .placeholder, .loaded: nil
        }
    }
}
