// This source file is part of the Optimist open source project, under the MIT licence.

/// A token bucket for each key: a burst of attempts, then one per interval.
struct AttemptLimiter: Sendable {
    private let rate: AttemptRate

    private struct Bucket {
        var used: Double
        var updated: Duration
    }
    private var buckets: [String: Bucket] = [:]
    /// If there are more keys, the least loaded keys are forgotten first.
    private let maxKeys = 10_000

    init(_ rate: AttemptRate) { self.rate = rate }

    /// - Parameters:
    ///   - count: How many attempts this call counts as, if it is allowed.
    ///   - now: The time since any fixed moment.
    /// - Returns: How long to wait, or nil if the attempt is allowed.
    mutating func attempt(_ key: String, count: Int = 1, now: Duration) -> Duration? {
        var bucket = buckets[key] ?? Bucket(used: 0, updated: now)
        bucket.used = max(0, bucket.used - (now - bucket.updated) / rate.interval)
        bucket.updated = now
        let free = Double(rate.burst) - bucket.used
        if free >= 1 { bucket.used += Double(count) }
        buckets[key] = bucket
        if buckets.count > maxKeys { forget(now) }
        return free >= 1 ? nil : rate.interval * (1 - free)
    }

    mutating func forgive(_ key: String) { buckets[key] = nil }

    private mutating func forget(_ now: Duration) {
        buckets = buckets.filter { $0.value.used > (now - $0.value.updated) / rate.interval }
        guard buckets.count > maxKeys else { return }
        let kept = buckets.sorted { $0.value.used > $1.value.used }.prefix(maxKeys / 2)
        buckets = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }
}
