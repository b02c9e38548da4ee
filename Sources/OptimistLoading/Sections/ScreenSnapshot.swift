// This source file is part of the Optimist open source project, under the MIT licence.

/// The state of a screen, with the sections that changed since the observer's previous snapshot.
public struct ScreenSnapshot<ID: Hashable & Sendable, Screen: Sendable>: Sendable {
    /// The app's value with all sections. Sections outside of their hours are nil.
    public let screen: Screen
    /// The visible sections, in the order of the sources. Sections outside of their hours are missing.
    public let ids: [ID]
    /// The sections whose value, visibility or phase changed. In an observer's first snapshot, all visible sections. A
    /// repeated failure is not a change.
    public let changed: Set<ID>
    let phases: [ID: SectionPhase]

    /// The state of a section's source. ``SectionPhase/waiting`` for an unknown id.
    public func phase(of id: ID) -> SectionPhase { phases[id] ?? .waiting }
}
