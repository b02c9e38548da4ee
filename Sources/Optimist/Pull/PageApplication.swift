// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Applies received rows to the app's tables, within one transaction.
///
/// Puts precede deletions, so that a moved child is not deleted with its former parent. A few rows usually fit in the
/// order received. If they do not, or if rows are parked already, ``Fitting`` applies all of them together.
///
/// Invariant: each row that a call counts as received is applied or parked, so the cursor may pass it. Rows of unknown
/// tables are ignored.
struct PageApplication {
    private let layouts: [TableLayout]
    private let db: Database
    private let milliseconds: Int64
    private let context: PageContext

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

    /// Applies rows without deletions, in batches, until a write of the app waits for the end of the transaction. After
    /// the first misfit, all remaining rows are applied together.
    ///
    /// A misfit changes nothing, so savepoints are unnecessary. They took 40% of a first sync, because SQLite then
    /// copies each changed database page to a file. Only deferred foreign keys, which fail at the commit, need
    /// savepoints.
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

    /// Up to this many rows are first tried in the order received.
    private static let few = 50

    private func fitsAsItComes(_ rows: [ReceivedRow], by oneByOne: inout RowApplication) throws -> Bool {
        guard try ParkedRows(db).isEmpty else { return false }
        return try oneByOne.attempt { try $0.apply(rows) } == nil
    }

    /// - Returns: False if a row does not fit. The rows before it are then applied.
    private func fitsOneByOne(_ rows: [ReceivedRow], by oneByOne: inout RowApplication) throws -> Bool {
        guard try ParkedRows(db).isEmpty else { return false }
        do {
            try oneByOne.apply(rows)
            return true
        } catch let error as DatabaseError where error.isConstraint {
            return false
        }
    }

    /// Applies the claims on rows that are no longer where they were, until no row moves any further.
    func releaseClaims() throws {
        while case let claims = Dictionary(grouping: try takeClaims(), by: \.scope), !claims.isEmpty {
            for (scope, rows) in claims.sorted(by: { $0.key < $1.key }) {
                try PageApplication(layouts, db, at: milliseconds, PageContext(scope: scope, hasMore: true)).apply(rows)
            }
        }
    }

    /// Removes the claims to apply next, and the claims that their rows have passed.
    ///
    /// - Returns: The claims to apply, at most one of each row.
    private func takeClaims() throws -> [ReceivedRow] {
        let parked = ParkedRows(db)
        let claims = try parked.claims()
        if claims.isEmpty { return [] }
        let entries = try RowEntryTable(db)
        return try Dictionary(grouping: claims, by: \.ref).flatMap { ref, claims in
            let versions = Dictionary(claims.map { (Int($0.scope), RowPlace.Version($0.content)) }) { $1 }
            var place = RowPlace(of: try entries.entry(ref) ?? RowEntry(ref: ref), claims: versions)
            let next = place.takeClaim()
            for claim in claims where place.claims[Int(claim.scope)] == nil { try parked.remove(ref, in: claim.scope) }
            return claims.filter { Int($0.scope) == next }
        }
    }

    /// Retries the parked rows after the removal of a row that may have kept them out. Call
    /// ``UnseenSettling/keepEdited(_:_:)`` first, in the same transaction.
    func retryParked() throws {
        if try ParkedRows(db).isEmpty { return }
        var fitting = Fitting(try anew(), db)
        try fitting.fit([])
    }
}
