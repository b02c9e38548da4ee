// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// A feed of one section without a filter, as most screens need.
///
/// ```swift
/// let feed = PlainFeed<Photo, Picture>(values: pictures, key: \.url) { cursor in try await api.page(after: cursor) }
/// ```
public typealias PlainFeed<Item: Identifiable & Equatable & Sendable, Value: Sendable> =
    Feed<OnlySection, NoFilter, Item, Value> where Item.ID: Sendable

/// The section of a feed with only one section.
public struct OnlySection: Hashable, Sendable {
    /// Creates the section. All instances are equal.
    public init() {}
}

extension Feed where Section == OnlySection, Filter == NoFilter {
    /// Creates a feed of one section.
    ///
    /// - Parameters:
    ///   - page: Fetches the page for a cursor, which is ``FeedPage/next`` of the previous page. Nil: the first page.
    ///   - limits: How far ahead of the screen the feed loads.
    ///   - archive: Keeps the first pages between launches. Default: none.
    ///   - values: Loads the value of each item near the screen.
    ///   - key: Returns the loader's key for an item.
    ///   - freshness: Whether a cached value is good enough. Default: it is shown, and replaced if it has expired.
    ///   - dependencies: The clock and tasks. Default: the system's.
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

/// A screen's main content: the items, or what to show instead.
public enum FeedContent: Sendable {
    /// There are items.
    case items
    /// There are no items yet, but a page is loading.
    case loading
    /// There are no items, because ``Feed/refresh()`` has not been called yet, or not again after everything was
    /// removed.
    case nothingYet
    /// All pages are loaded, and they are empty.
    case empty
    /// There are no items, no page is loading, and at least one section failed. The first failed section has this
    /// error.
    case failed(any Error)
}

extension FeedSnapshot {
    /// The main content of a screen that shows this feed.
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
