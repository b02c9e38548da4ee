// This source file is part of the Optimist open source project, under the MIT licence.

/// Elements that keep their place until they are removed. A place that has become free is given to another.
struct Slab<Element: Sendable>: Sendable {
    private var elements: [Element?] = []
    private var free: [Int] = []

    var count: Int { elements.count - free.count }

    /// The elements with their places, in no order that means anything.
    var all: [(place: Int, element: Element)] {
        elements.indices.compactMap { place in elements[place].map { (place, $0) } }
    }

    subscript(place: Int) -> Element? {
        get { place < elements.count ? elements[place] : nil }
        _modify { yield &elements[place] }
    }

    /// Returns the place of a new element.
    mutating func insert(_ element: Element) -> Int {
        guard let place = free.popLast() else {
            elements.append(element)
            return elements.count - 1
        }
        elements[place] = element
        return place
    }

    @discardableResult
    mutating func remove(_ place: Int) -> Element? {
        guard place < elements.count, let element = elements[place] else { return nil }
        elements[place] = nil
        free.append(place)
        return element
    }
}
