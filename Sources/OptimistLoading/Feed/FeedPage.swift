// This source file is part of the Optimist open source project, under the MIT licence.

/// What a feed's source is asked for: one page of one section.
public struct FeedRequest<Section: Hashable & Sendable, Filter: Hashable & Sendable>: Hashable, Sendable {
    public let section: Section
    public let filter: Filter
    /// Where the page begins, as the page before it said. Nil: the first page.
    public let cursor: String?

    public init(section: Section, filter: Filter, cursor: String? = nil) {
        self.section = section
        self.filter = filter
        self.cursor = cursor
    }
}

/// A page as the source gives it.
public struct FeedPage<Item: Sendable>: Sendable {
    /// In the order in which they are shown. There may be none.
    public var items: [Item]
    /// Names the page that follows. Nil: this is the last one.
    public var next: String?

    public init(_ items: [Item], next: String? = nil) {
        self.items = items
        self.next = next
    }
}

extension FeedPage: Equatable where Item: Equatable {}
extension FeedPage: Codable where Item: Codable {}

/// The filter of a feed that has none.
public struct NoFilter: Hashable, Sendable {
    public init() {}
}
