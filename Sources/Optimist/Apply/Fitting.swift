// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Applies the received rows that fit the app's tables, and parks the others (R4).
///
/// The server has decided the final state of each row, so their order does not matter. First, all rows are put into the
/// tables, and then the foreign keys are checked. If a parent is missing, this is undone and repeated without the rows
/// below that parent. If all rows fit, the deletions follow. Rows that only leave for another scope precede all others.
///
/// The remaining rows are tried cycle by cycle, each cycle after the rows that it needs: its parents, the holders of
/// its unique values and, for a deletion, the rows that refer to it. So an obstacle stops only its own cycle, and a
/// moved row is put before its former parent is deleted. A row that fits may make room for others, so this repeats
/// until nothing changes.
///
/// Invariant: at any time each row of the page is applied, parked, or still to be tried.
struct Fitting: RowWork {
    private var rows: RowApplication
    private let db: Database
    private let parked: ParkedRows
    private let needs: RowNeeds
    /// The page's rows that are not applied yet. Retries use these, not the parked copies.
    private var received: [RowRef: ReceivedRow] = [:]
    private var applied: [RowRef] = []
    private var hasParked = false

    var door: Door {
        get { rows.door }
        set { rows.door = newValue }
    }

    private struct Misfit {
        let row: ReceivedRow
        let reason: ParkedReason
        /// The missing row that the misfit refers to. Nil if there is another obstacle.
        var parent: RowRef?
    }

    init(_ rows: RowApplication, _ db: Database) {
        self.rows = rows
        self.db = db
        parked = ParkedRows(db)
        needs = RowNeeds(tables: rows.door.tables, references: rows.door.references)
    }

    /// - Parameter some: If a row occurs twice, the later version counts.
    mutating func fit(_ some: [ReceivedRow]) throws {
        var latest: [RowRef: Int] = [:]
        for (index, row) in some.enumerated() {
            if let other = latest[row.ref], some[other].content.version > row.content.version { continue }
            latest[row.ref] = index
        }
        let page = some.indices.filter { latest[some[$0].ref] == $0 }.map { some[$0] }
        received = Dictionary(uniqueKeysWithValues: page.map { ($0.ref, $0) })
        var next = try page + ready(besides: page.map(\.ref))
        if next.isEmpty { return }
        hasParked = try !parked.isEmpty
        try db.deferringForeignKeys {
            next = try fitTogether(followMoves(next))
            while try !next.isEmpty && fitCycles(among: next) { next = try ready() }
        }
    }

    /// - Parameter others: Rows about to be tried. The result includes the rows that wait for them.
    private mutating func ready(besides others: [RowRef] = []) throws -> [ReceivedRow] {
        for ref in applied { received[ref] = nil }
        applied = []
        if try parked.isEmpty { return [] }
        let ready = try parked.ready(door.tables, besides: others, hasMore: rows.context.hasMore)
        // The app may have stopped syncing a table. Its rows stay parked.
        return ready.filter { door.tables[$0.ref.table] != nil }.map { row in
            received[row.ref].flatMap { $0.scope == row.scope ? $0 : nil } ?? row
        }
    }

    /// Moves rows to their next scopes first, because rows of this page may be below them there.
    ///
    /// - Returns: The other rows.
    private mutating func followMoves(_ some: [ReceivedRow]) throws -> [ReceivedRow] {
        try some.filter { row in try !rows.goesOn(row) || !fit(cycle: [row]) }
    }

    // MARK: - Together

    /// - Returns: The rows to try next. Misfits are parked, unless they cannot be identified.
    private mutating func fitTogether(_ some: [ReceivedRow]) throws -> [ReceivedRow] {
        var (next, orphans): ([ReceivedRow], [Misfit]) = (some, [])
        while !next.isEmpty {
            guard let more = try putTogether(next, without: orphans, isAll: next.count == some.count) else { break }
            if more.isEmpty {
                // No row shows why a foreign key fails. The missing parent may be in a table that does not sync.
                // Usually a row that has waited is to blame. If not, each cycle is tried by itself.
                let fresh = next.filter { !$0.hasWaited }
                if fresh.isEmpty || fresh.count == next.count { return some }
                next = fresh
                continue
            }
            orphans += more
            let names = Set(more.map(\.row.ref))
            next = next.filter { !names.contains($0.ref) }
        }
        if next.isEmpty { try park(orphans) }
        return try ready()
    }

    /// Puts rows in a savepoint, which is rolled back if a foreign key does not hold at the end. The deletions follow
    /// only if all rows fit, because a misfit may still be below a deleted row.
    ///
    /// - Parameters:
    ///   - former: The rows known to lack a parent.
    ///   - isAll: Whether no row was left out.
    /// - Returns: More rows that lack a parent. Nil if every foreign key holds; in that case the misfits are parked.
    private mutating func putTogether(
        _ some: [ReceivedRow], without former: [Misfit], isAll: Bool
    ) throws -> [Misfit]? {
        let before = self
        let (put, deleted) = (some.filter(\.isAlive), some.filter { !$0.isAlive })
        var (isKept, orphans) = (false, Orphans())
        try db.inSavepoint {
            try park(former)
            let allFit = try place(put) && isAll
            isKept = db.holdsForeignKeys
            if isKept {
                if allFit {
                    try delete(deleted)
                } else {
                    try park(deleted.map { Misfit(row: $0, reason: .constraint) })
                }
                return .commit
            }
            for row in put { orphans.add(row.ref, below: try parents(of: row.ref)) }
            try orphans.find(isHere)
            return .rollback
        }
        if isKept { return nil }
        self = before
        try orphans.addRowsBelow(isHere)
        return put.compactMap { row in
            orphans.missing[row.ref].map { Misfit(row: row, reason: .foreignKey, parent: $0) }
        }
    }

    /// Deletes rows together or, if a foreign key then fails, cycle by cycle.
    private mutating func delete(_ some: [ReceivedRow]) throws {
        if some.isEmpty { return }
        // A deletion parks server rows that SQLite deletes with it.
        hasParked = true
        if try attempt({ _ = try $0.place(some) }) == nil { return }
        _ = try fitCycles(among: some)
    }

    /// Parks a misfit immediately, so that later deletions see it.
    ///
    /// - Returns: Whether all rows fit.
    private mutating func place(_ some: [ReceivedRow]) throws -> Bool {
        var allFit = true
        for row in some {
            guard let reason = try apply(row) else { continue }
            allFit = false
            try park([Misfit(row: row, reason: reason)])
        }
        return allFit
    }

    /// - Returns: The obstacle. Nil if the row fits.
    private mutating func apply(_ row: ReceivedRow) throws -> ParkedReason? {
        let reason = try Self.apply(row, by: &rows, removingFrom: hasParked ? parked : nil)
        if reason == nil { applied.append(row.ref) }
        return reason
    }

    private static func apply(
        _ row: ReceivedRow, by rows: inout RowApplication, removingFrom parked: ParkedRows?
    ) throws -> ParkedReason? {
        do {
            if case .waiting(let reason) = try rows.apply(row) { return reason }
        } catch let error as DatabaseError where error.isConstraint {
            return ParkedReason(error)
        }
        try parked?.remove(row.ref, in: row.scope)
        return nil
    }

    private mutating func park(_ misfits: [Misfit]) throws {
        if misfits.isEmpty { return }
        hasParked = true
        for misfit in misfits { try parked.park(misfit.row, reason: misfit.reason, awaiting: misfit.parent) }
    }

    // MARK: - Cycle by cycle

    /// Applies the cycles that fit, and parks the other rows. Returns whether any cycle fits.
    private mutating func fitCycles(among some: [ReceivedRow]) throws -> Bool {
        let places = Dictionary(zip(some.map(\.ref), some.indices), uniquingKeysWith: { $1 })
        let needed = try some.map { row in try needs.needs(of: row).compactMap { places[$0] } }
        let cycles = Cycles.inOrder(needs: needed).map { cycle in cycle.sorted().map { some[$0] } }
        let put = cycles.filter { $0.contains(where: \.isAlive) }
        let deleted = cycles.filter { !$0.contains(where: \.isAlive) }
        if !deleted.isEmpty { hasParked = true }
        var hasFitted = false
        for cycle in put + deleted where try fit(cycle: cycle) { hasFitted = true }
        return hasFitted
    }

    /// Applies all rows of a cycle or none. They may exchange their unique values.
    private mutating func fit(cycle: [ReceivedRow]) throws -> Bool {
        var reasons: [RowRef: ParkedReason] = [:]
        let parked = hasParked ? parked : nil
        let obstacle = try rows.attempt(exchanging: cycle.count > 1 ? cycle.map(\.ref) : []) { rows in
            for row in cycle.filter(\.isAlive) + cycle.filter({ !$0.isAlive }) {
                reasons[row.ref] = try Self.apply(row, by: &rows, removingFrom: parked)
            }
            // A single misfit has changed nothing.
            if cycle.count > 1, !reasons.isEmpty { throw DatabaseError(resultCode: .SQLITE_CONSTRAINT) }
        }
        if obstacle == nil, reasons.isEmpty {
            applied += cycle.map(\.ref)
            return true
        }
        let names = Set(cycle.map(\.ref))
        let common = cycle.lazy.compactMap { reasons[$0.ref] }.first
        for row in cycle {
            let reason = reasons[row.ref] ?? common ?? .foreignKey
            let parent =
                try common == nil ? needs.references(of: row).first { try !names.contains($0) && !isHere($0) } : nil
            try park([Misfit(row: row, reason: reason, parent: parent)])
        }
        return false
    }

    /// The rows that a row refers to in the app's table, including by unsent edits.
    private func parents(of ref: RowRef) throws -> [RowRef] {
        guard let table = door.tables[ref.table], let values = try table.values(ref.id) else { return [] }
        return door.tables.owners(by: values, in: table)
    }

    private func isHere(_ ref: RowRef) throws -> Bool { try door.tables[ref.table]?.contains(ref.id) ?? false }
}
