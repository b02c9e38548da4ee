// This source file is part of the Optimist open source project, under the MIT licence.

/// A screen at one moment, and which of its sections have changed since the snapshot that its observer was given before.
public struct ScreenSnapshot<ID: Hashable & Sendable, Screen: Sendable>: Sendable {
    public let screen: Screen
    /// The sections that are there now, in the order of the sources. Those outside of their hours are not.
    public let ids: [ID]
    /// Those that are different, have come or have gone, or stand otherwise with their source. In an observer's first
    /// snapshot: all that are there. A failure that follows a failure is no change.
    public let changed: Set<ID>
    let phases: [ID: SectionPhase]

    /// How a section stands with its source. Unknown ids are waiting.
    public func phase(of id: ID) -> SectionPhase { phases[id] ?? .waiting }
}
