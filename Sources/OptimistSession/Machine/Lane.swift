// This source file is part of the Optimist open source project, under the MIT licence.

/// Requests of one kind on their way to the server: a few at a time, the others in the order they came.
///
/// A request that waits here holds no credential yet. So if a thousand requests meet an expired token, only those that
/// had a slot are sent twice.
struct Lane {
    /// The most at a time. Nil means no limit.
    let slots: Int?
    private var inUse = 0
    private var queue: [RequestID] = []
    private var head = 0
    private var waiting: Set<RequestID> = []

    init(slots: Int?) { self.slots = slots }

    var hasFreeSlot: Bool { slots.map { inUse < $0 } ?? true }

    mutating func enqueue(_ id: RequestID) {
        waiting.insert(id)
        queue.append(id)
    }

    /// Takes a slot for the one who has waited longest, if there is a slot and anyone waits.
    mutating func admitNext() -> RequestID? {
        guard hasFreeSlot else { return nil }
        while head < queue.count {
            let id = queue[head]
            head += 1
            if waiting.remove(id) != nil {
                inUse += 1
                compact()
                return id
            }
        }
        compact()
        return nil
    }

    mutating func freeSlot() {
        precondition(inUse > 0, "a slot was freed twice")
        inUse -= 1
    }

    /// Takes one who waits out of the queue, wherever it stands, in constant time.
    mutating func leaveQueue(_ id: RequestID) {
        waiting.remove(id)
        compact()
    }

    /// Those who left stay in the array until they are half of it, so every operation is O(1) on average.
    private mutating func compact() {
        guard queue.count > 16, queue.count > 2 * waiting.count else { return }
        queue = queue[head...].filter(waiting.contains)
        head = 0
    }
}
