// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// The kinds of attempts that are limited, each with keys of its own.
package enum AttemptKind: String, Sendable, CaseIterable {
    /// Attempts to sign in or up from one network address.
    case address
    /// Wrong passwords for one email address.
    case account
    /// Messages with a reset token to one email address.
    case reset
    /// Reports of the app's health from one network address.
    case health
    /// Totals of the app's health that are new, from one network address.
    case healthTotals
    /// Signatures of the app's health that are new, from one network address.
    case healthSignatures
}

/// How long it takes until one more attempt of each kind is allowed.
struct AttemptIntervals: Sendable {
    var address = Duration.seconds(2)
    var account = Duration.seconds(10)
    var reset = Duration.seconds(600)
    var health = Duration.seconds(1)
}

/// A limit on attempts with one key.
package struct AttemptRate: Hashable, Sendable {
    /// How many attempts may follow each other at once.
    package var burst: Int
    /// How long it takes until one more is allowed.
    package var interval: Duration
}

/// Counts attempts, together for all processes that share the data.
package protocol AttemptStore: Sendable {
    /// Counts an attempt, unless it is refused.
    ///
    /// - Parameter count: As how many it counts. If one more is allowed, an attempt that counts as many is too. Zero: it
    ///   only asks.
    /// - Returns: How long to wait if the attempt is refused. Nil: it is allowed.
    /// - Throws: The database's error.
    func attempt(_ kind: AttemptKind, _ key: String, _ rate: AttemptRate, count: Int) async throws -> Duration?
    /// Forgets a key's attempts, after one of them succeeded.
    ///
    /// - Throws: The database's error.
    func forgive(_ kind: AttemptKind, _ key: String) async throws
    /// Removes what counts no longer.
    ///
    /// - Throws: The database's error.
    func sweep() async throws
}

extension AttemptStore {
    /// Counts one attempt, unless it is refused.
    package func attempt(_ kind: AttemptKind, _ key: String, _ rate: AttemptRate) async throws -> Duration? {
        try await attempt(kind, key, rate, count: 1)
    }
}

/// Counts the attempts of one process, in its memory. For a server that shares its data with no other.
final class LocalAttempts: AttemptStore {
    private let limiters = Mutex<[AttemptKind: AttemptLimiter]>([:])
    private let elapsed: @Sendable () -> Duration

    /// - Parameter elapsed: Returns the time since a fixed moment.
    init(elapsed: @escaping @Sendable () -> Duration) { self.elapsed = elapsed }

    func attempt(_ kind: AttemptKind, _ key: String, _ rate: AttemptRate, count: Int) -> Duration? {
        let now = elapsed()
        return limiters.withLock { $0[kind, default: AttemptLimiter(rate)].attempt(key, count: count, now: now) }
    }

    /// Removes nothing: a limiter keeps a bounded number of keys.
    func sweep() {}

    func forgive(_ kind: AttemptKind, _ key: String) { limiters.withLock { $0[kind]?.forgive(key) } }
}
