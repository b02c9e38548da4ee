// This source file is part of the Optimist open source project, under the MIT licence.

/// Several lists over the indices of one array, each index in one of them at most. Whatever is done to one takes the
/// same time, however long it is.
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

    /// Which list an index is in.
    func list(of index: Int) -> Int? {
        guard index < links.count, links[index].list != Self.none else { return nil }
        return links[index].list
    }

    /// Puts an index that is in no list at the end of one.
    mutating func append(_ index: Int, to list: Int) {
        while links.count <= index { links.append(Link()) }
        precondition(links[index].list == Self.none, "an index is in one list at a time")
        let last = lasts[list]
        links[index] = Link(previous: last, next: Self.none, list: list)
        if last == Self.none { firsts[list] = index } else { links[last].next = index }
        lasts[list] = index
    }

    /// Takes an index out of its list, if it is in one.
    mutating func remove(_ index: Int) {
        guard let list = list(of: index) else { return }
        let link = links[index]
        if link.previous == Self.none { firsts[list] = link.next } else { links[link.previous].next = link.next }
        if link.next == Self.none { lasts[list] = link.previous } else { links[link.next].previous = link.previous }
        links[index] = Link()
    }

    /// Adds a list.
    mutating func addList() -> Int {
        firsts.append(Self.none)
        lasts.append(Self.none)
        return firsts.count - 1
    }
}
