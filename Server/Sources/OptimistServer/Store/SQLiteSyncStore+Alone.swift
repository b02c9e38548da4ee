// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// A store without a server around it, for simulations.
extension SQLiteSyncStore {
    /// Opens a file, or makes it, and begins an epoch.
    ///
    /// Reading happens on the caller's thread. The same calls in the same order, and commits run in the same order, give the
    /// same file.
    ///
    /// - Parameters:
    ///   - accounts: The ids of the accounts that there are. Those which the file has keep what they have.
    ///   - day: The present day, as `Expiry` counts them.
    ///   - runner: Runs commits when it sees fit, one call after the other. Writes that arrive before it does share one.
    /// - Throws: `OptimistError`, or the database's.
    package init(
        path: String, epoch: String, accounts: [String], day: Int,
        runner: @escaping @Sendable (_ commits: @escaping @Sendable () -> Void) -> Void
    ) throws {
        let database = try ServerDatabase(path: path, epoch: epoch, day: day)
        try database.pool.write { db in
            for account in accounts {
                try db.execute(
                    sql: """
                        INSERT INTO optimist_accounts (account_id, email, password, created_at) VALUES (?1, ?1, '', '')
                        ON CONFLICT DO NOTHING
                        """, arguments: [account])
            }
        }
        self.init(database, commits: GroupCommit(writer: database.pool, runner: runner), readsInPlace: true)
    }

    /// Closes the file. Nothing may be under way.
    package func close() throws { try database.pool.close() }
}
