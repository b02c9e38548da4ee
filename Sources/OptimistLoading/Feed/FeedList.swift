// This source file is part of the Optimist open source project, under the MIT licence.

/// The items of one section, each once, in the order of its pages (F1, F4).
struct FeedList<Item: Identifiable & Equatable & Sendable>: Sendable where Item.ID: Sendable {
    /// Where a page ends.
    struct Mark: Sendable, Equatable {
        let end: Int
        let next: String?
    }

    private(set) var items: [Item] = []
    private(set) var index: [Item.ID: Int] = [:]
    private(set) var marks: [Mark] = []
    /// How many of the marks are of the newest pages. What follows them is from before, and is shown until they have come
    /// so far. Nil: all of them are.
    private var joint: Int?

    var next: String? { marks.last?.next }
    /// Whether the newest pages have come to an end. That former ones had says nothing.
    var hasEnded: Bool { joint == nil && marks.last.map { $0.next == nil } ?? false }
    /// Where the newest pages end, and what was here before begins. Nil: there is no such thing.
    var seam: Mark? { joint.map { marks[$0 - 1] } }
    /// The newest pages alone.
    var newest: Self {
        guard let joint else { return self }
        var newest = Self()
        newest.marks = Array(marks[..<joint])
        for item in items[..<(seam?.end ?? 0)] { newest.add(item) }
        return newest
    }

    /// Adds a page. An item that is here stays where it is, as the page describes it.
    ///
    /// - Returns: Those that it describes otherwise, as they were.
    mutating func append(_ page: FeedPage<Item>) -> [Item] {
        var former: [Item] = []
        for item in page.items {
            if let place = index[item.id] {
                guard items[place] != item else { continue }
                former.append(items[place])
                items[place] = item
            } else {
                add(item)
            }
        }
        marks.append(Mark(end: items.count, next: page.next))
        return former
    }

    /// Whether a page has led to this cursor before. Pages from before a refresh may: they were of another order.
    func hasBeen(at cursor: String) -> Bool { joint == nil && marks.contains { $0.next == cursor } }

    /// Where in a former list what comes after this one begins.
    ///
    /// - Returns: Nil: the two last items are not neighbours there, in this order. One item alone tells nothing: it may have
    ///   come from far below, and what it has passed is still to come.
    func joint(with former: Self) -> Int? {
        let tail = items.suffix(2).compactMap { former.index[$0.id] }
        return tail.count == 2 && tail[0] + 1 == tail[1] ? tail[1] + 1 : nil
    }

    /// This list, and then the items that the earlier one has from a place on and this one lacks.
    ///
    /// Nothing that the server still has is lost by that: the pages of this one go on where they end.
    func followed(by former: Self, from start: Int) -> Self {
        guard !hasEnded else { return self }
        var joined = self
        joined.joint = marks.count
        var start = start
        for mark in former.marks where mark.end > start {
            for item in former.items[start..<mark.end] where index[item.id] == nil { joined.add(item) }
            joined.marks.append(Mark(end: joined.items.count, next: mark.next))
            start = mark.end
        }
        return joined.items.count > items.count ? joined : self
    }

    /// The first pages, as one: as many as have no more items than the limit, and the first in any case.
    func head(limit: Int) -> FeedPage<Item>? {
        guard let mark = marks.last(where: { $0.end <= limit }) ?? marks.first else { return nil }
        return FeedPage(Array(items[..<mark.end]), next: mark.next)
    }

    private mutating func add(_ item: Item) {
        index[item.id] = items.count
        items.append(item)
    }
}
