// This source file is part of the Optimist open source project, under the MIT licence.

/// A screen at one moment, and which of its sections changed since the snapshot that its observer got before.
public struct ScreenSnapshot<ID: Hashable & Sendable, Screen: Sendable>: Sendable {
    /// The app's value, with every section filled in. Sections outside of their hours are nil.
    public let screen: Screen
    /// The sections that are there now, in the order of the sources. Sections outside of their hours are missing.
    public let ids: [ID]
    /// The sections that changed, appeared or disappeared, or stand otherwise with their source. In an observer's first
    /// snapshot: all that are there. A failure that follows a failure is no change.
    public let changed: Set<ID>
    let phases: [ID: SectionPhase]

    /// How a section stands with its source. ``SectionPhase/waiting`` for an unknown id.
    public func phase(of id: ID) -> SectionPhase { phases[id] ?? .waiting }
}
