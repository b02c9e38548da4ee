// This source file is part of the Optimist open source project, under the MIT licence.

/// Several linked lists over the indices of one array, where each index is in at most one list.
///
/// - Complexity: Every operation on an index takes O(1).
struct Lists {
    private static let none = -1

    private struct Link {
        var previous = none
        var next = none
        var list = none
    }

    private var links: [Link] = []
    private var firsts: [Int]
    private var lasts: [Int]

    init(_ count: Int) {
        firsts = Array(repeating: Self.none, count: count)
        lasts = firsts
    }

    func first(of list: Int) -> Int? { firsts[list] == Self.none ? nil : firsts[list] }

    func next(after index: Int) -> Int? { links[index].next == Self.none ? nil : links[index].next }

    func list(of index: Int) -> Int? {
        guard index < links.count, links[index].list != Self.none else { return nil }
        return links[index].list
    }

    /// Appends an index, which must not be in any list.
    mutating func append(_ index: Int, to list: Int) {
        while links.count <= index { links.append(Link()) }
        precondition(links[index].list == Self.none, "An index must be in only one list.")
        let last = lasts[list]
        links[index] = Link(previous: last, next: Self.none, list: list)
        if last == Self.none { firsts[list] = index } else { links[last].next = index }
        lasts[list] = index
    }

    mutating func remove(_ index: Int) {
        guard let list = list(of: index) else { return }
        let link = links[index]
        if link.previous == Self.none { firsts[list] = link.next } else { links[link.previous].next = link.next }
        if link.next == Self.none { lasts[list] = link.previous } else { links[link.next].previous = link.previous }
        links[index] = Link()
    }

    mutating func addList() -> Int {
        firsts.append(Self.none)
        lasts.append(Self.none)
        return firsts.count - 1
    }
}
