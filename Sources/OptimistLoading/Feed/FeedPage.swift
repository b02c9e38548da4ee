// This source file is part of the Optimist open source project, under the MIT licence.

/// One page of one section, which a feed asks its source for.
public struct FeedRequest<Section: Hashable & Sendable, Filter: Hashable & Sendable>: Hashable, Sendable {
    /// The section.
    public let section: Section
    /// The filter that the feed shows.
    public let filter: Filter
    /// Where the page begins: ``FeedPage/next`` of the page before it. Nil: the first page.
    public let cursor: String?

    /// Makes a request, by default for the first page.
    public init(section: Section, filter: Filter, cursor: String? = nil) {
        self.section = section
        self.filter = filter
        self.cursor = cursor
    }
}

/// A page as the source returns it.
public struct FeedPage<Item: Sendable>: Sendable {
    /// The items, in the order in which the feed shows them. There may be none.
    public var items: [Item]
    /// Names the page that follows, as ``FeedRequest/cursor``. Nil: this is the last page.
    public var next: String?

    /// Makes a page, by default a last one.
    public init(_ items: [Item], next: String? = nil) {
        self.items = items
        self.next = next
    }
}

extension FeedPage: Equatable where Item: Equatable {}
extension FeedPage: Codable where Item: Codable {}

/// The filter of a feed that has none.
public struct NoFilter: Hashable, Sendable {
    /// Makes the filter. All are equal.
    public init() {}
}
