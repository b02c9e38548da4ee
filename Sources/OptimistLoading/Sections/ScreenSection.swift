// This source file is part of the Optimist open source project, under the MIT licence.

/// A part of a screen that changes, and is drawn, by itself.
public struct ScreenSection<ID: Hashable & Sendable, Screen: Sendable>: Sendable {
    public let id: ID
    let isSame: @Sendable (Screen, Screen) -> Bool
    let copy: @Sendable (_ from: Screen, _ to: inout Screen) -> Void
    let hide: (@Sendable (inout Screen) -> Void)?
    let hours: @Sendable (Screen) -> OpeningHours?

    /// A section that is always there.
    ///
    /// - Parameters:
    ///   - id: Names it in what changes.
    ///   - path: Where the screen has it. Compared and copied by it under the lock, so it leads to what is stored.
    public init<Value: Equatable & Sendable>(_ id: ID, _ path: any WritableKeyPath<Screen, Value> & Sendable) {
        self.init(id, path, hide: nil) { _ in nil }
    }

    /// A section with hours: outside of them the screen has nil in its place (H3).
    public init<Value: Equatable & Sendable>(
        _ id: ID, _ path: any WritableKeyPath<Screen, Value?> & Sendable, hours: OpeningHours
    ) {
        self.init(id, path, hide: { $0[keyPath: path] = nil }) { _ in hours }
    }

    /// A section whose hours come with it.
    ///
    /// - Parameters:
    ///   - id: Names it in what changes.
    ///   - path: Where the screen has it.
    ///   - hours: Those of what is there. Nil: it always is.
    public init<Value: Equatable & Sendable>(
        _ id: ID, _ path: any WritableKeyPath<Screen, Value?> & Sendable,
        hours: @escaping @Sendable (Value) -> OpeningHours?
    ) {
        self.init(id, path, hide: { $0[keyPath: path] = nil }) { $0[keyPath: path].flatMap(hours) }
    }

    private init<Value: Equatable & Sendable>(
        _ id: ID, _ path: any WritableKeyPath<Screen, Value> & Sendable, hide: (@Sendable (inout Screen) -> Void)?,
        hours: @escaping @Sendable (Screen) -> OpeningHours?
    ) {
        self.id = id
        isSame = { $0[keyPath: path] == $1[keyPath: path] }
        copy = { $1[keyPath: path] = $0[keyPath: path] }
        self.hide = hide
        self.hours = hours
    }
}

/// How a section stands with its source.
public enum SectionPhase: Sendable {
    /// There has been no answer yet.
    case waiting
    case current
    /// What is here is from an earlier answer: asking anew has failed, with the error as it was.
    case stale(any Error)
    /// There is nothing: the error as it was.
    case failed(any Error)
}
