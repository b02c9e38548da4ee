// This source file is part of the Optimist open source project, under the MIT licence.

/// One fetch: its key, and the means to report its progress. Use it from any thread until the fetch returns.
public struct Fetch<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The key of the value to fetch.
    public let key: Key
    /// What the source said of the value that is here already. Nil: there is none, and ``Fetched/unchanged(_:isKeptOnDisk:)`` is not
    /// a valid result.
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

    /// Tells the callers that wait how much has arrived, from 0 to 1; other numbers are clamped, and one that is not a number
    /// is not told. A caller that joins later gets the latest.
    public func report(_ progress: Double) {
        if !progress.isNaN { tell(.progress(min(max(progress, 0), 1))) }
    }

    /// Shows a partial value to the callers that wait. A caller that joins later gets the latest, unless it has a whole
    /// value already.
    public func show(_ partial: Value) { tell(.partial(partial)) }
}
