// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides when an observer receives a snapshot: immediately, then at most once per interval.
struct FramePacer: Sendable {
    let interval: Duration
    private var last: Duration?

    init(interval: Duration) { self.interval = interval }

    /// - Returns: How long the observer must wait. Nil: deliver the snapshot now.
    mutating func take(at now: Duration) -> Duration? {
        if let last, now - last < interval { return last + interval - now }
        last = now
        return nil
    }
}
