// This source file is part of the Optimist open source project, under the MIT licence.

public import Observation

/// An observable screen of sections. SwiftUI updates the views that read it.
///
/// ```swift
/// @State private var model = SectionsModel(home)
///
/// HomeView(model.snapshot?.screen).task { await model.follow() }
/// ```
@MainActor
@Observable
public final class SectionsModel<ID: Hashable & Sendable, Screen: Sendable> {
    /// The screen that the model follows.
    public let sections: Sections<ID, Screen>
    /// The latest snapshot. Nil until every source has responded or failed.
    public private(set) var snapshot: ScreenSnapshot<ID, Screen>?

    /// Creates a model with the screen's current state. It is updated only while ``follow()`` runs.
    public init(_ sections: Sections<ID, Screen>) {
        self.sections = sections
        snapshot = sections.snapshot
    }

    /// Keeps ``snapshot`` up to date until the task is cancelled. Requests the sources if ``Sections/refresh()`` has
    /// not been called yet.
    public func follow() async {
        sections.begin()
        for await snapshot in sections.snapshots() { self.snapshot = snapshot }
    }
}
