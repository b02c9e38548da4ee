// This source file is part of the Optimist open source project, under the MIT licence.

/// A part of a screen that changes and is drawn independently.
public struct ScreenSection<ID: Hashable & Sendable, Screen: Sendable>: Sendable {
    /// The id of the section in ``ScreenSnapshot/ids`` and ``ScreenSnapshot/changed``.
    public let id: ID
    let isSame: @Sendable (Screen, Screen) -> Bool
    let copy: @Sendable (_ from: Screen, _ to: inout Screen) -> Void
    let hide: (@Sendable (inout Screen) -> Void)?
    let hours: @Sendable (Screen) -> OpeningHours?

    /// Creates a section that is always shown.
    ///
    /// - Parameters:
    ///   - id: The id of the section in snapshots.
    ///   - path: The section's property of the screen. It is compared and copied under a lock, so it must be a stored
    ///     property.
    public init<Value: Equatable & Sendable>(_ id: ID, _ path: any WritableKeyPath<Screen, Value> & Sendable) {
        self.init(id, path, hide: nil) { _ in nil }
    }

    /// Creates a section with opening hours: outside of them, its value is nil.
    public init<Value: Equatable & Sendable>(
        _ id: ID, _ path: any WritableKeyPath<Screen, Value?> & Sendable, hours: OpeningHours
    ) {
        self.init(id, path, hide: { $0[keyPath: path] = nil }) { _ in hours }
    }

    /// Creates a section whose opening hours depend on its value.
    ///
    /// - Parameters:
    ///   - id: The id of the section in snapshots.
    ///   - path: The section's property of the screen.
    ///   - hours: Returns the hours of the section's current value. Nil: the section is always shown.
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

/// The state of a section's source.
public enum SectionPhase: Sendable {
    /// The source has not responded yet.
    case waiting
    /// The section shows the source's latest response.
    case current
    /// The last request failed with this error. The section shows an earlier response.
    case stale(any Error)
    /// The request failed with this error, and there is no earlier response.
    case failed(any Error)
}
