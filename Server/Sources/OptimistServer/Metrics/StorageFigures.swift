// This source file is part of the Optimist open source project, under the MIT licence.

/// Nil values are unknown or may not be read.
package struct StorageFigures: Sendable {
    package var databaseBytes: Int64?
    package var logBytes: Int64?
    /// Writes that wait for the writer, or requests that wait for a connection.
    package var waiting = 0
    /// Nil for an embedded database.
    package var pool: Pool?

    package struct Pool: Sendable {
        package var size: Int
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
