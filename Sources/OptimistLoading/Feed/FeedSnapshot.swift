// This source file is part of the Optimist open source project, under the MIT licence.

/// The state of a feed, with the changes since the observer's previous snapshot.
public struct FeedSnapshot<
    Section: Hashable & Sendable, Filter: Hashable & Sendable, Item: Identifiable & Equatable & Sendable,
    Value: Sendable
>: Sendable where Item.ID: Sendable {
    /// The filter of these items.
    public let filter: Filter
    /// All sections in the feed's order, including empty ones.
    public let sections: [FeedSection<Section, Item>]
    /// The changes since the previous snapshot. In an observer's first snapshot, all items are inserted.
    public let changes: FeedChanges<Section, Item.ID>
    let phases: [Item.ID: FeedPhase<Value>]

    /// The loading state of an item's value. ``FeedPhase/placeholder`` for items far from the screen, and for unknown
    /// ids.
    public func phase(of id: Item.ID) -> FeedPhase<Value> { phases[id] ?? .placeholder }

    /// Returns a section, or nil if the feed does not have it.
    public func section(_ id: Section) -> FeedSection<Section, Item>? { sections.first { $0.id == id } }
}

/// A section in a snapshot.
public struct FeedSection<Section: Hashable & Sendable, Item: Identifiable & Equatable & Sendable>: Identifiable,
    Sendable
where Item.ID: Sendable {
    /// The app's name for the section.
    public let id: Section
    /// The items in the order of their pages, except items that an earlier section contains.
    public let items: [Item]
    /// Whether more items can be expected.
    public let state: FeedSectionState
    /// Whether the items are from the previous launch, or from before a refresh that is running or has failed.
    public let isStale: Bool
    /// Changes with the items, except when items are only added at the end.
    let version: Int
}

/// Whether a section has more items.
public enum FeedSectionState: Sendable {
    /// The feed is fetching a page.
    case loading
    /// There are more pages. The feed fetches the next one when the screen comes near.
    case more
    /// All pages are loaded.
    case ended
    /// The source threw this error. Loaded items stay. See ``Feed/retry(section:)``.
    case failed(any Error)
}
