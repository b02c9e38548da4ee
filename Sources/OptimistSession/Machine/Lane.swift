// This source file is part of the Optimist open source project, under the MIT licence.

/// A queue for one kind of request: a few are sent at a time, the others wait in order of arrival.
///
/// A waiting request does not hold a credential yet. If a thousand requests meet an expired token, only those with a
/// slot are sent twice.
struct Lane {
    /// The maximum number of concurrent requests. Nil: no limit.
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

    /// Gives a free slot to the request that has waited longest, if any.
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

    /// Removes a waiting request in constant time.
    mutating func leaveQueue(_ id: RequestID) {
        waiting.remove(id)
        compact()
    }

    /// Entries of removed requests stay in the array until they make up half of it, so every operation is amortized
    /// O(1).
    private mutating func compact() {
        guard queue.count > 16, queue.count > 2 * waiting.count else { return }
        queue = queue[head...].filter(waiting.contains)
        head = 0
    }
}
