// This source file is part of the Optimist open source project, under the MIT licence.

public import Observation

/// A screen of sections for views that observe: SwiftUI draws again what has read it.
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
    /// The newest snapshot. Nil until every source has answered or failed.
    public private(set) var snapshot: ScreenSnapshot<ID, Screen>?

    /// Makes a model that shows what the screen has now. It changes only while ``follow()`` runs.
    public init(_ sections: Sections<ID, Screen>) {
        self.sections = sections
        snapshot = sections.snapshot
    }

    /// Keeps ``snapshot`` the newest until the task is cancelled. Asks the sources if ``Sections/refresh()`` has not
    /// been called yet.
    public func follow() async {
        sections.begin()
        for await snapshot in sections.snapshots() { self.snapshot = snapshot }
    }
}
