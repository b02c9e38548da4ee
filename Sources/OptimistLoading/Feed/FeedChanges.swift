// This source file is part of the Optimist open source project, under the MIT licence.

/// The differences between a snapshot and the observer's previous one.
public struct FeedChanges<Section: Hashable & Sendable, ID: Hashable & Sendable>: Equatable, Sendable {
    /// New items.
    public internal(set) var inserted: Set<ID> = []
    /// Removed items.
    public internal(set) var removed: Set<ID> = []
    /// Items that changed their section, or their order among the remaining items. The smallest such set.
    public internal(set) var moved: Set<ID> = []
    /// Items whose content or phase changed. They may also have moved.
    public internal(set) var updated: Set<ID> = []
    /// Sections whose state or staleness changed.
    public internal(set) var sections: Set<Section> = []

    /// All items that must be redrawn or removed.
    public var changedIDs: Set<ID> { inserted.union(removed).union(moved).union(updated) }

    /// Whether items were inserted, removed or moved.
    public var isStructural: Bool { !(inserted.isEmpty && removed.isEmpty && moved.isEmpty) }
}

extension FeedChanges {
    /// - Parameters:
    ///   - former: The same sections as they were before, in the same order, or none.
    ///   - updated: Items that may have been updated.
    /// - Complexity: O(n) for sections whose items were reordered, and O(m log m) for the items between the first and
    ///   the last difference. Appended items cost O(1) each, and unchanged sections nothing.
    init<Item>(
        from former: [FeedSection<Section, Item>], to sections: [FeedSection<Section, Item>], updated: Set<ID>,
        states: Set<Section>
    ) where Item.ID == ID {
        self.sections = states
        var places: [ID: (section: Int, index: Int)] = [:]
        var changed: [(section: Int, items: ArraySlice<Item>)] = []
        for (number, section) in sections.enumerated() {
            let before = former.isEmpty ? [] : former[number].items
            let isLonger = former.isEmpty || former[number].version == section.version
            let (old, new) =
                isLonger
                ? (before.endIndex..<before.endIndex, before.endIndex..<section.items.endIndex)
                : Self.middles(before, section.items)
            if !isLonger {
                // An item that was removed and added again in between may have new content.
                note(before[..<old.lowerBound], section.items[..<new.lowerBound])
                note(before[old.upperBound...], section.items[new.upperBound...])
            }
            for index in old { places[before[index].id] = (number, index) }
            changed.append((number, section.items[new]))
        }
        for (section, items) in changed {
            var kept: [(id: ID, place: Int)] = []
            for item in items {
                switch places.removeValue(forKey: item.id) {
                case nil: inserted.insert(item.id)
                case let place?:
                    // Another section's page may have different content for the item, which no change has recorded.
                    if former[place.section].items[place.index] != item { self.updated.insert(item.id) }
                    if place.section == section { kept.append((item.id, place.index)) } else { moved.insert(item.id) }
                }
            }
            let still = Self.longestRise(kept.map(\.place))
            for (number, entry) in kept.enumerated() where !still.contains(number) { moved.insert(entry.id) }
        }
        removed = Set(places.keys)
        self.updated = self.updated.union(updated).subtracting(inserted).subtracting(removed)
    }

    private mutating func note<Item: Identifiable & Equatable>(_ old: ArraySlice<Item>, _ new: ArraySlice<Item>)
    where Item.ID == ID {
        for (old, new) in zip(old, new) where old != new { updated.insert(new.id) }
    }

    /// The ranges between the common prefix and the common suffix.
    private static func middles<Item: Identifiable>(_ old: [Item], _ new: [Item]) -> (Range<Int>, Range<Int>)
    where Item.ID == ID {
        let most = min(old.count, new.count)
        var start = 0
        while start < most, old[start].id == new[start].id { start += 1 }
        var end = 0
        while end < most - start, old[old.count - 1 - end].id == new[new.count - 1 - end].id { end += 1 }
        return (start..<old.count - end, start..<new.count - end)
    }

    /// The positions of a longest increasing subsequence of the numbers, which are all different. The items at all
    /// other positions have moved.
    ///
    /// > Source: Fredman, "On computing the length of longest increasing subsequences", Discrete Mathematics 11, 1975.
    private static func longestRise(_ numbers: [Int]) -> Set<Int> {
        var ends: [Int] = []  // The end of the best run of each length.
        var before = [Int?](repeating: nil, count: numbers.count)
        for (position, number) in numbers.enumerated() {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
            }
            before[position] = low > 0 ? ends[low - 1] : nil
            if low == ends.count { ends.append(position) } else { ends[low] = position }
        }
        var run: Set<Int> = []
        var position = ends.last
        while let here = position {
            run.insert(here)
            position = before[here]
        }
        return run
    }
}
