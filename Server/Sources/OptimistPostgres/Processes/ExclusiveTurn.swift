// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Synchronization

/// Lets one process at a time do some work, by an advisory lock. The lock ends with its connection, so a process that
/// dies releases it.
struct ExclusiveTurn {
    let database: PostgresDatabase
    let lock: SharedStatement
    /// The parameter of the lock. Nil: it has none.
    var name: String?

    /// Carries out `work`, unless another process is doing it or the database cannot be reached.
    func carryOut(_ work: @Sendable () async -> Void) async {
        guard let holder = await Self.holder(of: lock, name, in: database) else { return }
        await work()
        holder.release()
    }

    private final class Holder: Sendable {
        private let connection = Mutex<PostgresConnection?>(nil)

        /// Blocks the thread. Returns nil if another process has the lock, or the database cannot be reached.
        init?(_ database: PostgresDatabase, _ lock: SharedStatement, _ name: String?) {
            let isOurs = connection.withLock { connection in
                connection = try? PostgresSetup(database).connect()
                return (try? connection?.query(lock, name.map { [.text($0)] } ?? []).bool(0, 0)) == true
            }
            if !isOurs { return nil }
        }

        func release() { DispatchQueue.global().async { [self] in connection.withLock { $0 = nil } } }
    }

    private static func holder(of lock: SharedStatement, _ name: String?, in database: PostgresDatabase) async
        -> Holder?
    {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: Holder(database, lock, name)) }
        }
    }
}
