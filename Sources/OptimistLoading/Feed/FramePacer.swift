// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides when an observer is given a snapshot: at once, and then once in an interval at most (F3).
struct FramePacer: Sendable {
    let interval: Duration
    private var last: Duration?

    init(interval: Duration) { self.interval = interval }

    /// - Returns: How long the observer still has to wait. Nil: it gets the snapshot now.
    mutating func take(at now: Duration) -> Duration? {
        if let last, now - last < interval { return last + interval - now }
        last = now
        return nil
    }
}
