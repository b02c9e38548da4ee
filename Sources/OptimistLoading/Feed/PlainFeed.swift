// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// A feed of one section without a filter: what most screens show.
///
/// ```swift
/// let feed = PlainFeed<Photo, Picture>(values: pictures, key: \.url) { cursor in try await api.page(after: cursor) }
/// ```
public typealias PlainFeed<Item: Identifiable & Equatable & Sendable, Value: Sendable> =
    Feed<OnlySection, NoFilter, Item, Value> where Item.ID: Sendable

/// The section of a feed that has only one.
public struct OnlySection: Hashable, Sendable {
    /// Makes the section. All are equal.
    public init() {}
}

extension Feed where Section == OnlySection, Filter == NoFilter {
    /// Makes a feed of one section.
    ///
    /// - Parameters:
    ///   - page: Gets the page that a cursor names, which is ``FeedPage/next`` of the page before it. Nil: the first page.
    ///   - limits: How much the feed holds and loads ahead. Default: that of the other initializer.
    ///   - archive: Keeps pages on the disk. Default: nil, nothing is kept.
    ///   - values: Loads the value of each item near the screen.
    ///   - key: The key of an item's value.
    ///   - freshness: How old a value may be. Default: a cached one is shown and refreshed.
    ///   - dependencies: Time and chance. Default: the real ones.
    public convenience init<Key>(
        limits: FeedLimits = FeedLimits(), archive: FeedArchive<Section, Filter, Item>? = nil,
        values: Loader<Key, Value>, key: @escaping @Sendable (Item) -> Key,
        freshness: Freshness = .cachedThenRefreshed, dependencies: Dependencies = Dependencies(),
        page: @escaping @Sendable (_ cursor: String?) async throws -> Page
    ) {
        self.init(
            sections: [OnlySection()], filter: NoFilter(), limits: limits, archive: archive, values: values, key: key,
            freshness: freshness, dependencies: dependencies, source: { try await page($0.cursor) })
    }
}

extension FeedSnapshot where Section == OnlySection {
    /// The items of the only section.
    public var items: [Item] { sections.first?.items ?? [] }
}

/// What a screen shows of a feed as a whole: its items, or what stands in their place.
public enum FeedContent: Sendable {
    /// There are items.
    case items
    /// No items yet, and a page is on its way.
    case loading
    /// No items, and no page was asked for: ``Feed/refresh()`` was not called yet, or everything was removed since.
    case nothingYet
    /// All pages are here, and they have no items.
    case empty
    /// No items, no page is on its way, and at least one section failed, the first of them with this error.
    case failed(any Error)
}

extension FeedSnapshot {
    /// What a screen shows of the feed as a whole.
    public var content: FeedContent {
        if sections.contains(where: { !$0.items.isEmpty }) { return .items }
        var (hasEnded, failure) = (true, nil as (any Error)?)
        for section in sections {
            switch section.state {
            case .loading: return .loading
            case .failed(let error): failure = failure ?? error
            case .more: hasEnded = false
            case .ended: break
            }
        }
        if let failure { return .failed(failure) }
        return hasEnded ? .empty : .nothingYet
    }
}
