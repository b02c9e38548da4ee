// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// What a limit on attempts counts by.
package enum AttemptKind: String, Sendable, CaseIterable {
    /// Attempts to sign in or up of one address of the network.
    case address
    /// Wrong passwords for one email address.
    case account
    /// Messages with a reset token to one email address.
    case reset
}

/// How many attempts may follow each other at once, and how long until one more is allowed.
package struct AttemptRate: Hashable, Sendable {
    package var burst: Int
    package var interval: Duration
}

/// Counts attempts, for all processes that share the data.
package protocol AttemptStore: Sendable {
    /// Takes note of an attempt.
    ///
    /// - Returns: How long to wait, or nil if the attempt may go ahead.
    /// - Throws: The database's error.
    func attempt(_ kind: AttemptKind, _ key: String, _ rate: AttemptRate) async throws -> Duration?
    /// Forgets a key's attempts, after one that succeeded.
    ///
    /// - Throws: The database's error.
    func forgive(_ kind: AttemptKind, _ key: String) async throws
}

/// The attempts that one process sees, in its memory.
final class LocalAttempts: AttemptStore {
    private let limiters = Mutex<[AttemptKind: AttemptLimiter]>([:])
    private let elapsed: @Sendable () -> Duration

    /// - Parameter elapsed: The time since any fixed moment.
    init(elapsed: @escaping @Sendable () -> Duration) { self.elapsed = elapsed }

    func attempt(_ kind: AttemptKind, _ key: String, _ rate: AttemptRate) -> Duration? {
        let now = elapsed()
        return limiters.withLock { $0[kind, default: AttemptLimiter(rate)].attempt(key, now: now) }
    }

    func forgive(_ kind: AttemptKind, _ key: String) { limiters.withLock { $0[kind]?.forgive(key) } }
}
