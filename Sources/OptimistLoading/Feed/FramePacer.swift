// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides when observers are told: at once, and then once in an interval at most (F3).
struct FramePacer: Sendable {
    enum Decision: Equatable {
        case tell
        case wake(after: Duration)
    }

    let interval: Duration
    private var last: Duration?
    private(set) var isWaiting = false

    init(interval: Duration) { self.interval = interval }

    /// Something has changed. Nil: a wake-up that is under way will tell it.
    mutating func changed(at now: Duration) -> Decision? {
        if isWaiting { return nil }
        if let last, now - last < interval {
            isWaiting = true
            return .wake(after: last + interval - now)
        }
        last = now
        return .tell
    }

    /// The time that was waited for is over: what has changed is told now.
    mutating func woke(at now: Duration) {
        isWaiting = false
        last = now
    }
}
