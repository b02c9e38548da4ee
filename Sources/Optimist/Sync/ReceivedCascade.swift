// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// What a deletion that is not the user's takes along by the app's own foreign keys (R2): before SQLite deletes those rows,
/// what is unsent of them is kept in the journal.
///
/// When the server deletes a row, it applies the same rules to its own rows, and reports those in deletions of their
/// own. Below a life that the server never had it leaves its rows as they are: they are parked until the row is there
/// again. A row that only an unsent edit of the user's has put below the deleted one goes back to where the server has
/// it.
struct ReceivedCascade {
    private(set) var entries: RowEntryTable
    private let tables: AppTables
    private let references: ReferenceGraph
    private let db: Database
    private let milliseconds: Int64
    /// The rows that go, each with whether the server has deleted it.
    private var going: [RowRef: Bool] = [:]
    /// Rows that the caller handles itself.
    private var spared: Set<RowRef> = []
    /// Rows that the server has in a life that does not fit yet, beside those that are parked.
    private let waiting: Set<RowRef>
    /// The values that are emptied for a moment.
    private let vacancy: Vacancy?
    /// The rows that were parked.
    private(set) var parked: Set<RowRef> = []
    /// Whether the rows go because a row was refused. Then the user has not deleted the server's versions of the rows
    /// that go with it.
    var isTakingBack = false
    /// The rows that must be received again for that reason.
    private(set) var unknown: [RowRef] = []

    init(
        _ entries: RowEntryTable, _ tables: AppTables, _ references: ReferenceGraph, _ db: Database,
        at milliseconds: Int64, waiting: Set<RowRef> = [], besides vacancy: Vacancy? = nil
    ) {
        self.entries = entries
        self.tables = tables
        self.references = references
        self.db = db
        self.milliseconds = milliseconds
        self.waiting = waiting
        self.vacancy = vacancy
    }

    /// Whether a deletion comes too soon for the rows below: they may have another owner on the server by now, which a later
    /// page brings, or what was sent of them is not answered, or they are still to be healed. And whatever is known to refer
    /// to the row later than that refers to its next life.
    ///
    /// - Parameters:
    ///   - seq: When the row was deleted. Nil: unknown.
    ///   - horizon: How far the server's word reaches.
    func isTooSoon(deletionOf ref: RowRef, at seq: Int64?, _ horizon: Horizon) throws -> Bool {
        let all = try rowsBelow(ref).filter { $0.ref != ref }
        let isTooSoon = try all.contains { below in
            guard let child = try entries.entry(below.ref) else { return false }
            let referrer = below.referrer
            if child.isPending, child.sent & referrer.column.mask != 0,
                try horizon.hasMore || Meta.int(.inFlight, in: db) != nil
            {
                return true
            }
            guard child.isKnownToServer, !child.isMoved(by: referrer) else { return false }
            return child.seq > (seq ?? .max)
                || (referrer.onDelete == .cascade && mayMove(below: ref, by: referrer, horizon))
        }
        var met: Set<RowRef> = [ref]
        return try isTooSoon || areToBeHealed(all, besides: &met)
    }

    /// Whether a later page may bring the row again, or move a row that would go with it.
    private func mayMove(below ref: RowRef, by referrer: ReferenceGraph.Referrer, _ horizon: Horizon) -> Bool {
        horizon.hasMore || horizon.lagging.contains(ref.table)
            || !references.goingAlong(with: referrer.layout, among: horizon.lagging).isEmpty
    }

    /// Whether the server has lost a row that would go with this one: it says what becomes of that row once it has it
    /// again.
    private func areToBeHealed(_ rows: [RowBelow], besides met: inout Set<RowRef>) throws -> Bool {
        for (ref, referrer, _) in rows where referrer.onDelete == .cascade && met.insert(ref).inserted {
            guard let child = try entries.entry(ref), child.isKnownToServer, !child.isMoved(by: referrer) else {
                continue
            }
            if try child.heals || areToBeHealed(rowsBelow(ref), besides: &met) { return true }
        }
        return false
    }

    /// - Parameters:
    ///   - isServers: Whether the server has deleted the row. If not, a life of it is given up that is only here.
    ///   - others: Rows that the caller handles itself.
    mutating func prepare(deletionOf ref: RowRef, isServers: Bool = true, sparing others: Set<RowRef> = []) throws {
        spared.formUnion(others)
        going[ref] = isServers
        for below in try rowsBelow(ref) { try prepare(below, below: ref) }
    }

    /// Deletes a row, after the rows that go with it were handled.
    ///
    /// - Parameter winner: The row that it has become one with: what refers to it refers to that from now on.
    /// - Throws: `DatabaseError` of a constraint, and then the database is as it was.
    mutating func delete(_ ref: RowRef, mergedInto winner: DatabaseValue? = nil) throws {
        guard let table = tables[ref.table] else { return }
        // Nothing can refer to a row of such a table: there is nothing to undo.
        if references.referrers(to: table.layout.name).isEmpty { return try table.make(.delete, at: ref.id) }
        try db.inSavepoint {
            if let winner { try Mergers(tables, references, db).repoint(from: ref, to: winner) }
            try prepare(deletionOf: ref)
            try table.make(.delete, at: ref.id)
            return .commit
        }
    }

    private typealias RowBelow = (ref: RowRef, referrer: ReferenceGraph.Referrer, table: AppTable)

    /// The rows that the app's foreign keys change or delete along with a row.
    private func rowsBelow(_ ref: RowRef) throws -> [RowBelow] {
        guard let table = tables[ref.table] else { return [] }
        let referrers = references.referrers(to: table.layout.name).filter { $0.onDelete != .restrict }
        return try referrers.flatMap { referrer -> [RowBelow] in
            guard let children = tables[referrer.layout.number] else { return [] }
            return try children.ids(where: [referrer.column], are: [ref.id]).map { id in
                (RowRef(table: referrer.layout.number, id: id), referrer, children)
            }
        }
    }

    private mutating func prepare(_ below: RowBelow, below parent: RowRef) throws {
        let (child, referrer, table) = below
        guard going[child] == nil, var entry = try entries.entry(child) else { return }
        if spared.contains(child) {
            // The caller handles that row. But SQLite now deletes the rows below it with this one.
            guard referrer.onDelete == .cascade else { return }
            going[child] = going[parent]
            for below in try rowsBelow(child) { try prepare(below, below: child) }
            return
        }
        let isMoved = entry.isMoved(by: referrer)
        switch referrer.onDelete {
        case .restrict: return
        case .setNull:
            if isMoved { try journal(child, table, in: referrer.column.mask) }
            if entry.sent & entry.dirty & referrer.column.mask != 0 {
                entry.restamp(referrer.column)
                try db.witness(entry.unsentStamp(of: referrer.column.name))
            }
            // What the server has lost it would else get back as null under the clock of the value that goes.
            if entry.isHealing, entry.dirty & referrer.column.mask == 0,
                let clock = entry.confirmedClock(of: referrer.column)
            {
                let later = Clock(stamp: clock.stamp.successor, device: try DeviceIdentity.current(in: db))
                entry.confirm(referrer.column, later)
                try db.witness(later.stamp)
            }
            if !isMoved { try park(&entry, unlessServersDeletionOf: parent, in: table) }
        case .cascade:
            var parent = parent
            if isMoved {
                let owner = owner(of: entry, by: referrer.column)
                if entry.isOver(without: referrer.column, in: table.layout) {
                    return try delete(entry, movedBy: referrer, in: table)
                }
                try takeBack(referrer.column, of: &entry, in: table)
                // The row may have to go with the owner that it has on the server too.
                guard let owner, going[owner] != nil else { return }
                parent = owner
            }
            let isServers = try going[parent] == true && entry.isKnownToServer && !isThereAgain(entry)
            try prepare(deletionOf: child, isServers: isServers)
            let lost = entry.heals ? table.layout.fullMask : entry.dirty
            if let loss = try Journal.Loss(lost, of: entry, by: .delete, in: table, besides: vacancy), entry.isPending {
                try Journal(db).record(loss, of: child, at: milliseconds)
            }
            try park(&entry, unlessServersDeletionOf: parent, in: table)
            giveUp(&entry)
        }
        try entries.save(entry)
    }

    /// Deletes a row that has outlived its own deletion only by a move below the one that goes.
    private mutating func delete(
        _ before: RowEntry, movedBy referrer: ReferenceGraph.Referrer, in table: AppTable
    ) throws {
        try journal(before.ref, table, in: referrer.column.mask)
        try prepare(deletionOf: before.ref, isServers: !isThereAgain(before))
        try table.make(.delete, at: before.ref.id)
        try UnknownColumns(db).forget(before.ref)
        var entry = before
        _ = entry.end(entry.acked, clock: nil)
        try entries.save(entry)
    }

    /// Whether the server has the row all the same, elsewhere or in a later life, which waits to be put: what refers to it refers
    /// to that.
    private func isThereAgain(_ entry: RowEntry) throws -> Bool {
        if waiting.contains(entry.ref) { return true }
        guard case .row(let patch)? = try ParkedRows(db).content(entry.ref) else { return false }
        return patch.generation ?? 1 >= entry.generation
    }

    /// A row that goes with another may be alive on the server, below another life of its parent's that is unsent here
    /// or comes with a later page: whatever a page brings of the row is news then. If the server has lost the row, and
    /// it goes with a refused one, another device may have sent it again.
    private mutating func giveUp(_ entry: inout RowEntry) {
        if entry.isPending, !entry.isKnownToServer {
            if !isTakingBack { return entry.loseUnsentLife() }
            entry.giveUpUnsentLife()
            if entry.isAlive { unknown.append(entry.ref) }
            return
        }
        if entry.hasOutlivedItsEnd {
            _ = entry.end(entry.acked, clock: nil)
            return
        }
        if entry.heals, isTakingBack { unknown.append(entry.ref) }
        if entry.isPending { entry.becomeClean() }
        if entry.isAlive { entry.known = 0 }
    }

    /// Keeps a row as the server has it, until the one that it refers to is there again: the server has not deleted that. A row
    /// that it has lost, or has deleted too, it does not have.
    private mutating func park(
        _ entry: inout RowEntry, unlessServersDeletionOf parent: RowRef, in table: AppTable
    ) throws {
        guard going[parent] == false, entry.isAlive, entry.isKnownToServer, !entry.heals, !entry.hasOutlivedItsEnd,
            let values = try table.values(entry.ref.id), try !ParkedRows(db).contains(entry.ref)
        else { return }
        let whole = vacancy?.filled(values, of: entry.ref.id, in: table) ?? values
        let served = entry.served(whole, in: table.layout)
        let row = ReceivedRow(
            ref: entry.ref, content: .row(entry.withdraw(served, isWhole: true, in: table.layout)))
        try ParkedRows(db).park(row, reason: nil, awaiting: parent)
        parked.insert(entry.ref)
    }

    /// The row that one refers to on the server.
    private func owner(of entry: RowEntry, by column: TableLayout.Column) -> RowRef? {
        tables.owner(by: column, entry.baseValue(of: column))
    }

    private mutating func takeBack(_ column: TableLayout.Column, of entry: inout RowEntry, in table: AppTable) throws {
        try journal(entry.ref, table, in: column.mask)
        try table.make(.set([column.name: entry.baseValue(of: column) ?? .null]), at: entry.ref.id)
        entry.clear(column.mask, in: table.layout)
        try entries.save(entry)
    }

    private func journal(_ ref: RowRef, _ table: AppTable, in mask: Int64) throws {
        guard let mine = try table.values(ref.id, in: mask) else { return }
        try Journal(db).record(ref, reason: .deleted, mine: mine, at: milliseconds)
    }
}

extension RowEntry {
    /// Whether only an unsent edit lets the row refer to where it does.
    fileprivate func isMoved(by referrer: ReferenceGraph.Referrer) -> Bool {
        isKnownToServer && dirty & referrer.column.mask != 0
    }
}
