// This source file is part of the Optimist open source project, under the MIT licence.

/// The sections of a feed in order. An item appears only in the first section that contains it.
struct FeedLayout<Item: Identifiable & Equatable & Sendable>: Sendable where Item.ID: Sendable {
    /// The position of an item in its section's own list, which includes hidden items.
    struct Place: Comparable {
        let section: Int
        var index: Int

        static func < (left: Self, right: Self) -> Bool { (left.section, left.index) < (right.section, right.index) }
    }

    private(set) var pages: [FeedPages<Item>]
    /// By section. A version changes with the items of its section, or of an earlier section, which may hide items.
    /// Appended items do not change the version of their section.
    private(set) var versions: [Int]
    private var shown: [[Item]?]

    init(sections: Int) {
        pages = Array(repeating: FeedPages(), count: sections)
        versions = Array(repeating: 0, count: sections)
        shown = Array(repeating: nil, count: sections)
    }

    init(replacing former: Self) {
        self.init(sections: former.pages.count)
        versions = former.versions.map { $0 + 1 }
    }

    /// `work` must not change the items.
    mutating func update<Result>(_ section: Int, _ work: (inout FeedPages<Item>) -> Result) -> Result {
        work(&pages[section])
    }

    /// - Parameter isAddition: Whether `work` only appends items, or changes their content in place.
    mutating func change<Result>(
        _ section: Int, isAddition: Bool, _ work: (inout FeedPages<Item>) -> Result
    ) -> Result {
        for later in section..<pages.count {
            shown[later] = nil
            if later > section || !isAddition { versions[later] += 1 }
        }
        return work(&pages[section])
    }

    func place(of id: Item.ID) -> Place? {
        for section in pages.indices {
            if let index = pages[section].list.index[id] { return Place(section: section, index: index) }
        }
        return nil
    }

    func item(at place: Place) -> Item { pages[place.section].list.items[place.index] }

    func hasNews(_ page: FeedPage<Item>, in section: Int) -> Bool {
        page.items.contains { item in !pages[...section].contains { $0.list.index[item.id] != nil } }
    }

    /// The items that a section shows.
    ///
    /// - Complexity: O(1) for the first section, and if nothing has changed since the last call. Otherwise O(n).
    mutating func items(of section: Int) -> [Item] {
        let all = pages[section].list.items
        if section == 0 { return all }
        if let known = shown[section] { return known }
        let items = all.filter { !isHidden($0.id, in: section) }
        shown[section] = items
        return items
    }

    private func isHidden(_ id: Item.ID, in section: Int) -> Bool {
        pages[..<section].contains { $0.list.index[id] != nil }
    }

    /// Up to `count` items after or before a place.
    ///
    /// - Parameter place: Nil: before the first item.
    func items(beside place: Place?, isForward: Bool, count: Int) -> [Item] {
        var (found, place) = ([Item](), place ?? Place(section: 0, index: -1))
        while found.count < count, let next = neighbour(of: place, isForward: isForward) {
            place = next
            let item = item(at: place)
            if !isHidden(item.id, in: place.section) { found.append(item) }
        }
        return found
    }

    private func neighbour(of place: Place, isForward: Bool) -> Place? {
        var (section, index) = (place.section, place.index + (isForward ? 1 : -1))
        while index < 0 || index >= pages[section].list.items.count {
            section += isForward ? 1 : -1
            guard pages.indices.contains(section) else { return nil }
            index = isForward ? 0 : pages[section].list.items.count - 1
        }
        return Place(section: section, index: index)
    }
}
