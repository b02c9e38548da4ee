// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

extension Store {
    /// Undoes and forgets all unsent changes in one transaction. New rows are removed, and edited rows return to the
    /// server's values. Deleted rows, and the server's rows that were deleted with them, return at the next sync.
    ///
    /// A change that was sent but not answered may have reached the server. If it has, the next sync returns it.
    /// Rejections are kept. Use this if your app does not want the rows that were written before the first sign-in, or
    /// if the user signs out and gives up the unsent changes.
    ///
    /// - Returns: How many rows were pending.
    /// - Throws: `DatabaseError`, with no change, for example if the app's own tables refer to a row that would be
    ///   removed.
    @discardableResult
    public func discardPending() async throws -> Int {
        let now = milliseconds
        return try await apply { db in
            var door = try Door(self.layouts, db, at: now)
            let pending = try RowEntryTable.unsent(db)
            let rows = try pending.compactMap { ref in
                try door.entries.entry(ref).flatMap { try TakenBack($0, isLost: true, in: door) }
            }
            let stuck = try door.takeBack(rows, device: DeviceIdentity.current(in: db))
            if let first = stuck.first { throw first.reason }
            try Self.receiveAnew(door.toReceive, of: self.layouts, in: db)
            try PageApplication(self.layouts, db, at: now, PageContext(hasMore: true)).retryParked()
            // The edits of the push in flight no longer exist, so its verdicts must be ignored.
            try Meta.set(.inFlight, to: nil, in: db)
            try GroupJoins(db).forgetSettled()
            return pending.count
        }
    }
}
