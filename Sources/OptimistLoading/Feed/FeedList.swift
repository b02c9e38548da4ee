// This source file is part of the Optimist open source project, under the MIT licence.

/// The items of one section, each once, in page order.
struct FeedList<Item: Identifiable & Equatable & Sendable>: Sendable where Item.ID: Sendable {
    struct Mark: Sendable, Equatable {
        let end: Int
        let next: String?
    }

    private(set) var items: [Item] = []
    private(set) var index: [Item.ID: Int] = [:]
    private(set) var marks: [Mark] = []
    /// The number of newest pages. The pages after these are from before a refresh, and are shown until new pages
    /// replace them. Nil if all pages are new.
    private var joint: Int?

    var next: String? { marks.last?.next }
    /// Whether the newest page is the last one. Older pages do not count.
    var hasEnded: Bool { joint == nil && marks.last.map { $0.next == nil } ?? false }
    /// The end of the newest pages, where older items begin. Nil without older items.
    var seam: Mark? { joint.map { marks[$0 - 1] } }
    var newest: Self {
        guard let joint else { return self }
        var newest = Self()
        newest.marks = Array(marks[..<joint])
        for item in items[..<(seam?.end ?? 0)] { newest.add(item) }
        return newest
    }

    /// Appends a page. An item that is already present keeps its place and takes the page's content.
    ///
    /// - Returns: The former versions of items whose content changed.
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

    /// Whether a page has already led to this cursor. Pages requested before a refresh do not count, because their
    /// order may differ.
    func hasBeen(at cursor: String) -> Bool { joint == nil && marks.contains { $0.next == cursor } }

    /// The index at which `former` continues after the last item of this list.
    ///
    /// - Returns: Nil unless the last two items of this list are adjacent in `former`, in this order. One item is not
    ///   enough: it may have moved up from far below, past items that are still missing here.
    func joint(with former: Self) -> Int? {
        let tail = items.suffix(2).compactMap { former.index[$0.id] }
        return tail.count == 2 && tail[0] + 1 == tail[1] ? tail[1] + 1 : nil
    }

    /// This list, followed by the items of `former[start...]` that this list lacks.
    ///
    /// No item of the server is lost: the pages of this list continue at its end.
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

    func head(limit: Int) -> FeedPage<Item>? {
        guard let mark = marks.last(where: { $0.end <= limit }) ?? marks.first else { return nil }
        return FeedPage(Array(items[..<mark.end]), next: mark.next)
    }

    private mutating func add(_ item: Item) {
        index[item.id] = items.count
        items.append(item)
    }
}
