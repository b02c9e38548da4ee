// This source file is part of the Optimist open source project, under the MIT licence.

/// Elements at stable places. A freed place is reused.
@usableFromInline
struct Slab<Element: Sendable>: Sendable {
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var free: [Int] = []

    @inlinable init() {}

    @inlinable var count: Int { elements.count - free.count }

    var all: [(place: Int, element: Element)] {
        elements.indices.compactMap { place in elements[place].map { (place, $0) } }
    }

    @inlinable subscript(place: Int) -> Element? {
        get { place < elements.count ? elements[place] : nil }
        _modify { yield &elements[place] }
    }

    @inlinable
    mutating func insert(_ element: Element) -> Int {
        guard let place = free.popLast() else {
            elements.append(element)
            return elements.count - 1
        }
        elements[place] = element
        return place
    }

    @inlinable @discardableResult
    mutating func remove(_ place: Int) -> Element? {
        guard place < elements.count, let element = elements[place] else { return nil }
        elements[place] = nil
        free.append(place)
        return element
    }
}
