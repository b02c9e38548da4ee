// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

package enum AttemptKind: String, Sendable, CaseIterable {
    /// Attempts to sign in or up from one network address.
    case address
    /// Wrong passwords for one email address.
    case account
    /// Wrong service keys from one network address.
    case serviceKey
    /// Messages with a reset token to one email address.
    case reset
    /// Health reports from one network address.
    case health
    /// New health totals from one network address.
    case healthTotals
    /// New health signatures from one network address.
    case healthSignatures
}

struct AttemptIntervals: Sendable {
    var address = Duration.seconds(2)
    var account = Duration.seconds(10)
    var reset = Duration.seconds(600)
    var health = Duration.seconds(1)
}

package struct AttemptRate: Hashable, Sendable {
    package var burst: Int
    package var interval: Duration
}

/// Counts attempts across all processes that share the data.
package protocol AttemptStore: Sendable {
    /// Counts an attempt, unless it is refused.
    ///
    /// - Parameter count: How many attempts this call counts as. If a single attempt is allowed, this call is allowed.
    ///   Zero only asks.
    /// - Returns: How long to wait if the attempt is refused, or nil.
    func attempt(_ kind: AttemptKind, _ key: String, _ rate: AttemptRate, count: Int) async throws -> Duration?
    /// Forgets a key's attempts, after a successful attempt.
    func forgive(_ kind: AttemptKind, _ key: String) async throws
    func sweep() async throws
}

extension AttemptStore {
    package func attempt(_ kind: AttemptKind, _ key: String, _ rate: AttemptRate) async throws -> Duration? {
        try await attempt(kind, key, rate, count: 1)
    }
}

/// Counts the attempts of one process in memory, for a server that does not share its data.
final class LocalAttempts: AttemptStore {
    private let limiters = Mutex<[AttemptKind: AttemptLimiter]>([:])
    private let elapsed: @Sendable () -> Duration

    init(elapsed: @escaping @Sendable () -> Duration) { self.elapsed = elapsed }

    func attempt(_ kind: AttemptKind, _ key: String, _ rate: AttemptRate, count: Int) -> Duration? {
        let now = elapsed()
        return limiters.withLock { $0[kind, default: AttemptLimiter(rate)].attempt(key, count: count, now: now) }
    }

    /// A limiter keeps a bounded number of keys.
    func sweep() {}

    func forgive(_ kind: AttemptKind, _ key: String) { limiters.withLock { $0[kind]?.forgive(key) } }
}
