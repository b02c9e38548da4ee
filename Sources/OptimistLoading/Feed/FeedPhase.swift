// This source file is part of the Optimist open source project, under the MIT licence.

/// How far the value of an item is (F1, F2).
public enum FeedPhase<Value: Sendable>: Sendable {
    /// Nothing is here: the item has its place, of the size that its page gave it. So has every item far from the screen.
    case placeholder
    /// To be replaced: a part of the value, or one that has expired. If asking for a newer one fails, it stays.
    case stale(Value)
    case loaded(Value)
    /// The error as it was. See ``Feed/retry(_:)``; an item that leaves the screen and comes back is tried again too.
    case failed(any Error)

    /// What can be shown.
    public var value: Value? {
        switch self {
        case .stale(let value), .loaded(let value): value
        case .placeholder, .failed: nil
        }
    }
}
