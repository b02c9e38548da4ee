// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Deletes a row, and handles the rows that the app's foreign keys delete or change with it (R2). The journal keeps
/// their unsent values.
///
/// The server applies the same rules to its own rows. But if the server never had the deleted life, it leaves the rows
/// below as they are, and the device parks these rows until the row above exists again.
extension Door {
    private struct Fall {
        /// The deleted rows, and whether the server has deleted each.
        var going: [RowRef: Bool]
        /// Whether the user's own row is taken back, so the server has not deleted anything.
        var isTakingBack = false
    }

    /// - Throws: `DatabaseError` of a constraint. The database is then unchanged.
    mutating func delete(_ ref: RowRef, _ reason: Passage.Deletion) throws {
        guard let table = tables[ref.table] else { return }
        if case .united(let winner) = reason, try unite(ref, with: RowRef(table: ref.table, id: winner)) { return }
        if references.referrers(to: table.layout.name).isEmpty { return try table.delete(ref.id) }
        let former = self
        do {
            try db.inSavepoint {
                try fell(ref, reason, in: table)
                return .commit
            }
        } catch {
            self = former
            throw error
        }
    }

    private mutating func fell(_ ref: RowRef, _ reason: Passage.Deletion, in table: AppTable) throws {
        var fall = Fall(going: [ref: true])
        switch reason {
        case .byServer, .united: break
        case .merged(let winner): try repoint(from: ref, to: winner)
        case .takenBack: fall = Fall(going: [ref: false], isTakingBack: true)
        }
        try prepareRowsBelow(ref, &fall)
        try table.delete(ref.id)
    }

    private mutating func prepareRowsBelow(_ ref: RowRef, _ fall: inout Fall) throws {
        for child in try tables.children(of: ref, references) { try prepare(child, below: ref, &fall) }
    }

    private mutating func prepare(_ child: Child, below parent: RowRef, _ fall: inout Fall) throws {
        guard fall.going[child.ref] == nil, var entry = try entries.entry(child.ref) else { return }
        if takingBack.contains(child.ref) {
            // The caller handles this row, but SQLite now also deletes the rows below it.
            guard child.referrer.onDelete == .cascade else { return }
            fall.going[child.ref] = fall.going[parent]
            return try prepareRowsBelow(child.ref, &fall)
        }
        let below = RowBelow(entry, by: child.referrer)
        switch below.fate {
        case .stays:
            // Only the child's unsent edit refers to the parent. The child's server version is parked.
            guard rowsSetAside.contains(child.ref) else { return }
            try go(&entry, child, with: parent, &fall)
            try child.table.delete(child.ref.id)
        case .refersToNothing: try empty(below, &entry, of: child, below: parent, fall)
        case .ends: return try end(entry, movedBy: child, &fall)
        case .returns:
            let owner = tables.owner(by: below.column, entry.baseValue(of: below.column))
            try takeBack(below.column, of: &entry, in: child.table)
            // The owner that the server knows may be among the deleted rows.
            if let owner, fall.going[owner] != nil { try go(&entry, child, with: owner, &fall) }
        case .goes: try go(&entry, child, with: parent, &fall)
        }
        try entries.save(entry)
    }

    /// Handles a row whose reference SQLite is about to empty.
    private func empty(
        _ below: RowBelow, _ entry: inout RowEntry, of child: Child, below parent: RowRef, _ fall: Fall
    ) throws {
        if below.isMoved { try journal(child.ref, child.table, in: below.column.mask) }
        if entry.sent & entry.dirty & below.column.mask != 0 { try db.witness(entry.restamp(below.column)) }
        if !below.isMoved, fall.going[parent] == false { try parkServed(&entry, below: parent, in: child.table) }
    }

    /// Handles a row that SQLite is about to delete with another one.
    private mutating func go(
        _ entry: inout RowEntry, _ child: Child, with parent: RowRef, _ fall: inout Fall
    ) throws {
        fall.going[child.ref] = try fall.going[parent] == true && entry.wasOnServer && !isThereAgain(entry)
        try prepareRowsBelow(child.ref, &fall)
        let layout = child.table.layout
        let lost = try entry.dirty | entry.replaced(unread(entry), in: layout)
        let rendering = Rendering(lost: lost, endsLife: true)
        if let loss = try Journal.Loss(rendering, of: entry, in: child.table, besides: vacancy) {
            try Journal(db).record(loss, of: child.ref, at: milliseconds)
        }
        if fall.going[parent] == false { try parkServed(&entry, below: parent, in: child.table) }
        giveUp(&entry, fall)
    }

    /// This device's values that the row's own deletion ended although the deleting user had not read them. The
    /// deletion is in this page or parked.
    private func unread(_ entry: RowEntry) throws -> UnreadClocks {
        if let told = endedUnread[entry.ref] { return told }
        guard case .deleted(let tombstone)? = try ParkedRows(db).content(of: entry), !tombstone.unread.isEmpty else {
            return UnreadClocks()
        }
        return tombstone.unread.of(devices: ownDevices)
    }

    /// Deletes a row that has outlived its own deletion only because the user moved it below the deleted row.
    private mutating func end(_ before: RowEntry, movedBy child: Child, _ fall: inout Fall) throws {
        try journal(child.ref, child.table, in: child.referrer.column.mask)
        fall.going[child.ref] = try !isThereAgain(before)
        try prepareRowsBelow(child.ref, &fall)
        try child.table.delete(child.ref.id)
        try UnknownColumns(db).forget(child.ref)
        var entry = before
        entry.end(entry.remote.generation, clock: nil)
        try entries.save(entry)
    }

    /// Whether the server's version of the row is parked: in another place or in a later life. References then refer to
    /// that version.
    private func isThereAgain(_ entry: RowEntry) throws -> Bool {
        guard case .row(let patch)? = try ParkedRows(db).content(of: entry) else { return false }
        return patch.generation ?? 1 >= entry.generation
    }

    /// Gives up a row that is deleted with another one, so that the row counts as new in a later page.
    ///
    /// On the server, the row may be alive, below a life of its parent that is unsent here or arrives in a later page.
    /// If the server lost the row, and a refused row takes it along here, another device may have sent the row again.
    private mutating func giveUp(_ entry: inout RowEntry, _ fall: Fall) {
        if entry.isPending, !entry.isKnownToServer {
            if !fall.isTakingBack { return entry.loseUnsentLife() }
            let wasRestored = entry.isRestored
            entry.giveUpUnsentLife()
            if entry.isAlive || wasRestored { toReceive.append(entry.ref) }
            return
        }
        if entry.hasOutlivedItsEnd { return entry.end(entry.remote.generation, clock: nil) }
        entry.becomeClean()
        if entry.isAlive { entry.remote.withdraw() }
    }

    /// Parks the server's version of a row, if the server has one, until the row's parent exists again.
    private func parkServed(_ entry: inout RowEntry, below parent: RowRef, in table: AppTable) throws {
        guard entry.isAlive, entry.isKnownToServer, !entry.isRestored, !entry.hasOutlivedItsEnd,
            let values = try table.values(entry.ref.id), try ParkedRows(db).content(of: entry) == nil
        else { return }
        let whole = vacancy?.filled(values, of: entry.ref.id, in: table) ?? values
        let served = entry.served(whole, in: table.layout)
        let row = ReceivedRow(
            ref: entry.ref, scope: entry.remote.scope,
            content: .row(entry.withdraw(served, isWhole: true, in: table.layout)))
        try ParkedRows(db).park(row, reason: .constraint, awaiting: parent)
    }

    private func takeBack(_ column: TableLayout.Column, of entry: inout RowEntry, in table: AppTable) throws {
        try journal(entry.ref, table, in: column.mask)
        guard case .set(let values) = entry.takeBack(column.mask, in: table.layout).change else { return }
        try table.set(values, at: entry.ref.id)
    }

    private func journal(_ ref: RowRef, _ table: AppTable, in mask: Int64) throws {
        guard let mine = try table.values(ref.id, in: mask) else { return }
        try Journal(db).record(ref, reason: .deleted, mine: mine, at: milliseconds)
    }
}
