// This source file is part of the Optimist open source project, under the MIT licence.

/// One fetch: its key, and functions to report progress. Use it from any thread until the fetch returns.
public struct Fetch<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The key of the value to fetch.
    public let key: Key
    /// The validity of the cached value, for a conditional request. Nil if there is none: the fetch must then not
    /// return ``Fetched/unchanged(_:isKeptOnDisk:)``.
    public let previous: Validity?
    private let tell: @Sendable (Report) -> Void

    @usableFromInline
    enum Report: Sendable {
        case progress(Double)
        case partial(Value)
    }

    @usableFromInline
    init(key: Key, previous: Validity?, tell: @escaping @Sendable (Report) -> Void) {
        self.key = key
        self.previous = previous
        self.tell = tell
    }

    /// Tells waiting callers the fraction that was received, clamped to 0...1. NaN is ignored. A caller that joins
    /// later gets the latest report.
    public func report(_ progress: Double) {
        if !progress.isNaN { tell(.progress(min(max(progress, 0), 1))) }
    }

    /// Shows a partial value to waiting callers. A caller that joins later gets the latest partial value, unless it
    /// already has a complete one.
    public func show(_ partial: Value) { tell(.partial(partial)) }
}
