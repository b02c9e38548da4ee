// This source file is part of the Optimist open source project, under the MIT licence.

/// One fetch: what it is for, and whom it may tell how far it is.
public struct Fetch<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    public let key: Key
    /// What the source said of the value that is here already. Nil: there is none, so ``Fetched/unchanged(_:)`` is no
    /// answer.
    public let former: Validity?
    private let tell: @Sendable (Report) -> Void

    @usableFromInline
    enum Report: Sendable {
        case progress(Double)
        case partial(Value)
    }

    @usableFromInline
    init(key: Key, former: Validity?, tell: @escaping @Sendable (Report) -> Void) {
        self.key = key
        self.former = former
        self.tell = tell
    }

    /// Tells those who wait how much has come, from 0 to 1. A caller that joins later gets the latest.
    public func report(_ progress: Double) { tell(.progress(min(max(progress, 0), 1))) }

    /// Shows those who wait a value that is better than none. A caller that joins later gets
    /// the latest, unless it has a whole value already.
    public func show(_ partial: Value) { tell(.partial(partial)) }
}
