// This source file is part of the Optimist open source project, under the MIT licence.

/// What a storage says about itself while it runs. Nil: it has no such figure, or may not read it.
package struct StorageFigures: Sendable {
    /// The size of the database, in bytes.
    package var databaseBytes: Int64?
    /// The size of the write-ahead log, in bytes.
    package var logBytes: Int64?
    /// How many writes wait for the writer, or how many requests for a connection.
    package var waiting = 0
    /// The connections of a shared database. Nil: there are none.
    package var pool: Pool?

    package struct Pool: Sendable {
        /// How many connections there may be.
        package var size: Int
        /// How many of them are in use.
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
