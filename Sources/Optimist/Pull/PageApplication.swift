// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Applies received rows to the app's tables, within one transaction.
///
/// Rows are put before others are deleted, so that a child that has moved is not deleted with its former parent. A few
/// rows usually fit as they come. If they do not, if there are many, or if other rows are parked, ``Fitting`` applies
/// them together with the parked rows.
struct PageApplication {
    private let layouts: [TableLayout]
    private let db: Database
    private let milliseconds: Int64
    private let context: PageContext

    /// - Parameter context: When the server read the rows, and whether more is to come after them.
    init(_ layouts: [TableLayout], _ db: Database, at milliseconds: Int64, _ context: PageContext) {
        self.layouts = layouts
        self.db = db
        self.milliseconds = milliseconds
        self.context = context
    }

    func apply(_ rows: [RemotePage.Row]) throws {
        var oneByOne = try anew()
        try oneByOne.lookAhead(rows)
        try apply(oneByOne.inOrder(rows), by: oneByOne)
    }

    /// Applies rows of a page without deletions, a few at a time, until a write of the app waits for the end of the
    /// transaction. If a row does not fit as it comes, all remaining rows are applied together.
    ///
    /// A row that does not fit leaves nothing behind, so nothing has to be undone, and no savepoint is needed.
    /// Savepoints took two fifths of a first sync, because SQLite copies each database page that changes within a
    /// savepoint to a file. Only where foreign keys are checked at the commit can a misfit be found too late. There,
    /// savepoints are used.
    ///
    /// - Returns: How many rows were applied or parked.
    func apply(_ rows: [RemotePage.Row], until isAwaited: () -> Bool) throws -> Int {
        var oneByOne = try anew()
        try oneByOne.lookAhead(rows)
        let fits = try db.hasDeferredForeignKeys ? fitsAsItComes : fitsOneByOne
        var count = 0
        while count < rows.count {
            let some = rows[count...].prefix(FreshEntries.together)
            guard try fits(oneByOne.inOrder(some), &oneByOne) else {
                try apply(Array(rows[count...]))
                return rows.count
            }
            count += some.count
            if isAwaited() { break }
        }
        return count
    }

    /// Applies rows in the order in which they are given.
    func apply(_ rows: [ReceivedRow]) throws {
        try apply(rows, by: anew())
    }

    private func apply(_ rows: [ReceivedRow], by oneByOne: RowApplication) throws {
        try oneByOne.forgetParked(rows)
        try UnseenSettling.keepEdited(layouts, db)
        var oneByOne = oneByOne
        oneByOne.noteUnread(rows)
        if rows.count <= Self.few, try fitsAsItComes(rows, by: &oneByOne) { return }
        var fitting = Fitting(oneByOne, db)
        try fitting.fit(rows)
    }

    private func anew() throws -> RowApplication {
        try RowApplication(layouts, db, at: milliseconds, context)
    }

    /// Up to this many rows are first tried as they come. A device that is up to date receives no more at a time.
    private static let few = 50

    private func fitsAsItComes(_ rows: [ReceivedRow], by oneByOne: inout RowApplication) throws -> Bool {
        guard try ParkedRows(db).isEmpty else { return false }
        return try oneByOne.attempt { try $0.apply(rows) } == nil
    }

    /// - Returns: Whether all rows were applied. If not, the rows before the first one that does not fit were applied.
    private func fitsOneByOne(_ rows: [ReceivedRow], by oneByOne: inout RowApplication) throws -> Bool {
        guard try ParkedRows(db).isEmpty else { return false }
        do {
            try oneByOne.apply(rows)
            return true
        } catch let error as DatabaseError where error.isConstraint {
            return false
        }
    }

    /// Tries the parked rows again, after a row has gone that may have kept them out. The caller has kept their edits
    /// before, in the same transaction: see ``UnseenSettling/keepEdited(_:_:)``.
    func retryParked() throws {
        if try ParkedRows(db).isEmpty { return }
        var fitting = Fitting(try anew(), db)
        try fitting.fit([])
    }
}
