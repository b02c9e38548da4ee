// This source file is part of the Optimist open source project, under the MIT licence.

/// A feed's request for one page of one section.
public struct FeedRequest<Section: Hashable & Sendable, Filter: Hashable & Sendable>: Hashable, Sendable {
    /// The section.
    public let section: Section
    /// The feed's current filter.
    public let filter: Filter
    /// The start of the page: ``FeedPage/next`` of the previous page. Nil: the first page.
    public let cursor: String?

    /// Creates a request, by default for the first page.
    public init(section: Section, filter: Filter, cursor: String? = nil) {
        self.section = section
        self.filter = filter
        self.cursor = cursor
    }
}

/// A page as the source returns it.
public struct FeedPage<Item: Sendable>: Sendable {
    /// The items in display order. May be empty.
    public var items: [Item]
    /// The cursor of the next page, for ``FeedRequest/cursor``. Nil: this is the last page.
    public var next: String?

    /// Creates a page, by default the last one.
    public init(_ items: [Item], next: String? = nil) {
        self.items = items
        self.next = next
    }
}

extension FeedPage: Equatable where Item: Equatable {}
extension FeedPage: Codable where Item: Codable {}

/// The filter of a feed that does not filter.
public struct NoFilter: Hashable, Sendable {
    /// Creates the filter. All instances are equal.
    public init() {}
}
