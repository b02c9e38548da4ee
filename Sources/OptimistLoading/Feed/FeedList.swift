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

    var next: String? { marks.last?.next }
    var hasEnded: Bool { marks.last.map { $0.next == nil } ?? false }

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

    /// Whether a page has led to this cursor before.
    func hasBeen(at cursor: String) -> Bool { marks.contains { $0.next == cursor } }

    /// This list, and then what the former one had after the last item of this one.
    ///
    /// What the former one had before that and this one has not is taken to be gone.
    ///
    /// - Returns: Nil if the former one does not have that item: nobody knows what is between the two.
    func followed(by former: Self) -> Self? {
        guard let last = items.last, let place = former.index[last.id] else { return nil }
        var joined = self
        var start = place + 1
        for mark in former.marks where mark.end > start {
            for item in former.items[start..<mark.end] where index[item.id] == nil { joined.add(item) }
            joined.marks.append(Mark(end: joined.items.count, next: mark.next))
            start = mark.end
        }
        return joined
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
