// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Synchronization

/// Lets one process at a time do the housekeeping: the one that holds an advisory lock. The lock ends with its
/// connection, so a process that dies releases it.
struct HousekeepingTurn {
    let database: PostgresDatabase

    /// Carries out `work`, and removes old attempts. Does nothing if another process is doing it, or if the database
    /// cannot be reached.
    func carryOut(_ work: @Sendable () async -> Void, _ attempts: PostgresAttempts) async {
        guard let holder = await Self.lock(database) else { return }
        await work()
        // If this fails, the next turn tries it again.
        try? await attempts.tidy()
        holder.release()
    }

    /// A connection that holds the lock.
    private final class Holder: Sendable {
        private let connection = Mutex<PostgresConnection?>(nil)

        /// Blocks the thread. Nil: another process has the lock, or the database cannot be reached.
        init?(_ database: PostgresDatabase) {
            let isOurs = connection.withLock { connection in
                connection = try? PostgresSetup(database).connect()
                return (try? connection?.query(SharedStatement.tryHousekeeping).bool(0, 0)) == true
            }
            if !isOurs { return nil }
        }

        func release() { DispatchQueue.global().async { [self] in connection.withLock { $0 = nil } } }
    }

    private static func lock(_ database: PostgresDatabase) async -> Holder? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: Holder(database)) }
        }
    }
}
