// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Applies received rows to the app's tables, within one transaction.
///
/// Rows are put before others are deleted, so that a child that has moved is not deleted with its former parent. A
/// child may move with a later page too: until the last page, a deletion that would take such rows with it waits.
/// Foreign keys are checked when all rows are there: a page may bring a child before its parent, and rows that refer to
/// each other. If they do not hold then, the rows are taken once more one by one. Rows that do not fit are parked (R4).
/// A few rows are first tried without all that: they mostly fit, and are then applied sooner.
struct PageApplication {
    private let layouts: [TableLayout]
    private let db: Database
    private let milliseconds: Int64
    private let horizon: Horizon

    /// - Parameter horizon: How far the server's word reaches with the rows of the page.
    init(_ layouts: [TableLayout], _ db: Database, at milliseconds: Int64, _ horizon: Horizon) {
        self.layouts = layouts
        self.db = db
        self.milliseconds = milliseconds
        self.horizon = horizon
    }

    func apply(_ rows: [PageRow]) throws {
        var oneByOne = try anew()
        try oneByOne.lookAhead(rows)
        try apply(oneByOne.inOrder(rows), by: oneByOne)
    }

    /// Applies rows of a page without deletions, a few at a time, until a write waits for the end of the transaction.
    /// If one does not fit as it comes, all the rest is applied together.
    ///
    /// A row that does not fit leaves nothing behind, so that nothing has to be undone: savepoints took two fifths of a
    /// first sync, since SQLite copies each page that is changed within one to a file. Only where foreign keys are checked
    /// at the commit can a row be found out too late.
    ///
    /// - Returns: How many were applied.
    func apply(_ rows: [PageRow], until isAwaited: () -> Bool) throws -> Int {
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
        try forgetParked(rows)
        try UnseenSettling.keepEdited(layouts, db)
        if rows.count <= Self.few {
            var oneByOne = oneByOne
            if try fitsAsItComes(rows, by: &oneByOne) { return }
            if try fitsAtOnce(rows, by: anew()) { return }
        } else if try fitsAtOnce(rows, by: oneByOne) {
            return
        }
        var fitting = Fitting(try anew(), db)
        try fitting.fit(rows)
    }

    /// The devices that were noted in a first attempt were undone with it.
    private func anew() throws -> RowApplication {
        try RowApplication(layouts, db, at: milliseconds, horizon)
    }

    /// So many rows are tried as they come first. A device that is up to date receives no more at a time.
    private static let few = 50

    private func fitsAsItComes(_ rows: [ReceivedRow], by oneByOne: inout RowApplication) throws -> Bool {
        guard try ParkedRows(db).isEmpty else { return false }
        var attempt = oneByOne
        guard try db.keepingWhatFitsAsItComes({ for row in rows { try attempt.apply(row) } }) else { return false }
        oneByOne = attempt
        return true
    }

    /// - Returns: Whether all were applied. If not, those before the first that does not fit were.
    private func fitsOneByOne(_ rows: [ReceivedRow], by oneByOne: inout RowApplication) throws -> Bool {
        guard try ParkedRows(db).isEmpty else { return false }
        do {
            try oneByOne.apply(rows)
            return true
        } catch let error as DatabaseError where error.isConstraint {
            return false
        }
    }

    private func fitsAtOnce(_ rows: [ReceivedRow], by oneByOne: RowApplication) throws -> Bool {
        var oneByOne = oneByOne
        var misfits: [ReceivedRow] = []
        func leave(_ row: ReceivedRow) {
            misfits.append(row)
            if row.isAlive { oneByOne.waiting.insert(row.ref) }
        }
        func apply(_ some: [ReceivedRow]) throws {
            for row in some {
                do { try oneByOne.apply(row) } catch let error as DatabaseError where error.isConstraint { leave(row) }
            }
        }
        let fits = try db.keepingWhatFits {
            var put = rows.filter(\.isAlive)
            let deleted = rows.filter { !$0.isAlive }
            repeat {
                try apply(put)
                // A row that has moved to the place it waited for is not deleted with its former place.
                put = []
                for row in deleted.isEmpty ? [] : try ready(oneByOne.tables) {
                    let lacksAnother = try Fitting(oneByOne, db).missingParent(of: row, among: []) != nil
                    if lacksAnother { leave(row) } else { put.append(row) }
                }
            } while !put.isEmpty
            try apply(deleted)
        }
        guard fits else { return false }
        oneByOne.waiting = []
        var fitting = Fitting(oneByOne, db)
        try db.deferringForeignKeys { try fitting.fit(misfits) }
        return true
    }

    /// Takes out the parked rows whose parents are here by now.
    private func ready(_ tables: AppTables) throws -> [ReceivedRow] {
        let parked = ParkedRows(db)
        return try parked.isEmpty ? [] : parked.takeReady(tables, includingOthers: false, hasMore: horizon.hasMore)
    }

    /// A later version of a parked row takes its place.
    private func forgetParked(_ rows: [ReceivedRow]) throws {
        let parked = ParkedRows(db)
        if try parked.isEmpty { return }
        for row in rows { try parked.forget(row.ref) }
    }

    /// Tries the parked rows again, after a row has gone that may have stood in their way. Their edits were kept before
    /// that, in the same transaction.
    func retryParked() throws {
        if try ParkedRows(db).isEmpty { return }
        var fitting = Fitting(try anew(), db)
        try fitting.fit([])
    }
}
