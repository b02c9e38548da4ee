// This source file is part of the Optimist open source project, under the MIT licence.

/// A feed at one moment, and what changed since the snapshot that its observer got before.
public struct FeedSnapshot<
    Section: Hashable & Sendable, Filter: Hashable & Sendable, Item: Identifiable & Equatable & Sendable,
    Value: Sendable
>: Sendable where Item.ID: Sendable {
    /// The filter that these items pass.
    public let filter: Filter
    /// All sections in the feed's order, also those without items.
    public let sections: [FeedSection<Section, Item>]
    /// What changed since the snapshot before. In an observer's first snapshot all items are inserted.
    public let changes: FeedChanges<Section, Item.ID>
    let phases: [Item.ID: FeedPhase<Value>]

    /// How far loading the value of an item has come. A placeholder for items far from the screen, and for unknown ids.
    public func phase(of id: Item.ID) -> FeedPhase<Value> { phases[id] ?? .placeholder }

    /// A section by its name. Nil if the feed has no such section.
    public func section(_ id: Section) -> FeedSection<Section, Item>? { sections.first { $0.id == id } }
}

/// A section of a feed at one moment.
public struct FeedSection<Section: Hashable & Sendable, Item: Identifiable & Equatable & Sendable>: Identifiable,
    Sendable
where Item.ID: Sendable {
    /// The name that the app gave to the section.
    public let id: Section
    /// The items in the order of their pages. An item that an earlier section has too is only there.
    public let items: [Item]
    /// Whether more items can be expected.
    public let state: FeedSectionState
    /// Whether the items are from before a refresh that is under way or has failed, or from the last launch.
    public let isStale: Bool
    /// Another one if the items are others, and not only more at the end.
    let version: Int
}

/// Whether a section has more to come.
public enum FeedSectionState: Sendable {
    /// The feed is fetching a page.
    case loading
    /// There are more pages. The feed fetches the next when the screen comes near it.
    case more
    /// All pages are here.
    case ended
    /// Fetching a page failed with this error, which the source threw. The items that are here stay. See
    /// ``Feed/retry(section:)``.
    case failed(any Error)
}
