// This source file is part of the Optimist open source project, under the MIT licence.

public import Observation

/// An observable feed. SwiftUI updates the views that read it.
///
/// ```swift
/// @State private var model = FeedModel(feed)
///
/// List(model.snapshot.section(.chosen)?.items ?? []) { PhotoRow($0, model.snapshot.phase(of: $0.id)) }
///     .task { await model.follow() }
/// ```
@MainActor
@Observable
public final class FeedModel<
    Section: Hashable & Sendable, Filter: Hashable & Sendable, Item: Identifiable & Equatable & Sendable,
    Value: Sendable
> where Item.ID: Sendable {
    /// The feed that the model follows.
    public let feed: Feed<Section, Filter, Item, Value>
    /// The latest snapshot.
    public private(set) var snapshot: FeedSnapshot<Section, Filter, Item, Value>

    /// Creates a model with the feed's current state. It is updated only while ``follow()`` runs.
    public init(_ feed: Feed<Section, Filter, Item, Value>) {
        self.feed = feed
        snapshot = feed.snapshot
    }

    /// Keeps ``snapshot`` up to date until the task is cancelled. Loads the first pages if ``Feed/refresh()`` has not
    /// been called yet.
    public func follow() async {
        feed.begin()
        for await snapshot in feed.snapshots() { self.snapshot = snapshot }
    }
}
