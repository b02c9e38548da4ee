// This source file is part of the Optimist open source project, under the MIT licence.

/// Sorted by due time. Entries with equal times keep the order of insertion.
struct TimerQueue<Content> {
    private struct Entry {
        var due: Duration
        var number: UInt64
        var content: Content

        static func < (a: Self, b: Self) -> Bool { (a.due, a.number) < (b.due, b.number) }
    }

    private var heap: [Entry] = []
    private var lastNumber: UInt64 = 0

    /// Nil if the queue is empty.
    var nextDue: Duration? { heap.first?.due }

    mutating func add(_ content: Content, due: Duration) {
        lastNumber += 1
        heap.append(Entry(due: due, number: lastNumber, content: content))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() -> (due: Duration, content: Content)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        if !heap.isEmpty {
            heap[0] = last
            sink(0)
        }
        return (first.due, first.content)
    }

    private mutating func sink(_ index: Int) {
        var parent = index
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child] < heap[least] {
                least = child
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
