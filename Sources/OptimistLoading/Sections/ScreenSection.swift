// This source file is part of the Optimist open source project, under the MIT licence.

/// A part of a screen that changes, and is drawn, on its own.
public struct ScreenSection<ID: Hashable & Sendable, Screen: Sendable>: Sendable {
    /// The name of the section in ``ScreenSnapshot/ids`` and ``ScreenSnapshot/changed``.
    public let id: ID
    let isSame: @Sendable (Screen, Screen) -> Bool
    let copy: @Sendable (_ from: Screen, _ to: inout Screen) -> Void
    let hide: (@Sendable (inout Screen) -> Void)?
    let hours: @Sendable (Screen) -> OpeningHours?

    /// A section that is always there.
    ///
    /// - Parameters:
    ///   - id: Names it in a snapshot's changes.
    ///   - path: Where the screen has it. The section is compared and copied by this path under a lock, so it leads to
    ///     a stored property.
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
    ///   - hours: The hours of the section's present value. Nil: it is always shown.
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
    /// The source has not answered yet.
    case waiting
    /// The section shows the source's latest answer.
    case current
    /// The section shows an earlier answer: the last request failed with this error, which the source threw.
    case stale(any Error)
    /// There is nothing to show: the request failed with this error, which the source threw.
    case failed(any Error)
}
