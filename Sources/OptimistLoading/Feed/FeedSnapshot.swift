// This source file is part of the Optimist open source project, under the MIT licence.

/// A feed at one moment, and what has changed since the snapshot that its observer was given before.
public struct FeedSnapshot<
    Section: Hashable & Sendable, Filter: Hashable & Sendable, Item: Identifiable & Equatable & Sendable,
    Value: Sendable
>: Sendable where Item.ID: Sendable {
    public let filter: Filter
    /// All of them, in the feed's order, those without items too.
    public let sections: [FeedSection<Section, Item>]
    /// Since the snapshot before. In an observer's first one all items are inserted.
    public let changes: FeedChanges<Section, Item.ID>
    let phases: [Item.ID: FeedPhase<Value>]

    /// How far the value of an item is. Far from the screen, and for an unknown id: a placeholder.
    public func phase(of id: Item.ID) -> FeedPhase<Value> { phases[id] ?? .placeholder }

    /// - Returns: Nil: the feed has no such section.
    public func section(_ id: Section) -> FeedSection<Section, Item>? { sections.first { $0.id == id } }
}

/// A section of a feed at one moment.
public struct FeedSection<Section: Hashable & Sendable, Item: Identifiable & Equatable & Sendable>: Identifiable,
    Sendable
where Item.ID: Sendable {
    public let id: Section
    /// In the order of their pages. One that an earlier section has too is there only.
    public let items: [Item]
    public let state: FeedSectionState
    /// Whether the items are from before a refresh that is under way or has failed, or from the last launch (F6).
    public let isStale: Bool
    /// Another one if the items are others, and not only more at the end.
    let version: Int
}

/// What is to be expected of a section (F4).
public enum FeedSectionState: Sendable {
    /// A page is on its way.
    case loading
    /// There is more, which is asked for when the screen comes near it.
    case more
    /// All is here.
    case ended
    /// A page could not be had: the error as it was. What is here stays. See ``Feed/retry(section:)``.
    case failed(any Error)
}
