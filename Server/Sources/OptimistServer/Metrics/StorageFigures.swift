// This source file is part of the Optimist open source project, under the MIT licence.

/// Measurements of a running storage. Nil values are unknown or may not be read.
package struct StorageFigures: Sendable {
    /// The size of the database, in bytes.
    package var databaseBytes: Int64?
    /// The size of the write-ahead log, in bytes.
    package var logBytes: Int64?
    /// How many writes wait for the writer, or requests for a connection.
    package var waiting = 0
    /// The connections of a shared database. Nil for an embedded one.
    package var pool: Pool?

    package struct Pool: Sendable {
        /// The most connections.
        package var size: Int
        /// The number in use.
        package var busy: Int

        package init(size: Int, busy: Int) {
            self.size = size
            self.busy = busy
        }
    }

    package init(databaseBytes: Int64? = nil, logBytes: Int64? = nil, waiting: Int = 0, pool: Pool? = nil) {
        self.databaseBytes = databaseBytes
        self.logBytes = logBytes
        self.waiting = waiting
        self.pool = pool
    }
}
