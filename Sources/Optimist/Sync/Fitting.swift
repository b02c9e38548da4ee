// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Finds out which of some received rows fit the app's tables, and parks the others (R4).
///
/// Rows are tried one by one, for as long as one of them lets another in. The rest is tried together, as far as each
/// row refers to rows that are there or among them: rows that refer to each other in a circle, and rows that exchange
/// the values of a unique index or take over those of a deleted row. If that does not fit, or is too much, each circle
/// is tried by itself, so that an obstacle to one circle does not stop the others.
struct Fitting {
    private var rows: RowApplication
    private let db: Database
    private let parked: ParkedRows

    /// More rows than these are not tried together.
    private static let maxTogether = 1_000

    init(_ rows: RowApplication, _ db: Database) {
        self.rows = rows
        self.db = db
        parked = ParkedRows(db)
    }

    /// Applies what fits, of these rows and of those that are parked, and parks the rest.
    mutating func fit(_ received: [ReceivedRow]) throws {
        if try received.isEmpty && parked.isEmpty { return }
        var left = try ready(includingOthers: true) + received
        var reasons: [RowRef: String] = [:]
        try putBeforeDeletions(&left, &reasons)
        var count = 0
        repeat {
            try fitWhatFollows(&left, &reasons)
            left = inOrder(adding(try parked.take(awaiting: Set(left.map(\.ref))), to: left))
            count = left.count
            left = try fitTogether(left)
        } while left.count < count
        try park(left, reasons)
        if try !rows.horizon.hasMore && fitHeldBack() { try fit([]) }
    }

    /// Rows that have moved, or are there again, are put before the row above their former place is deleted. The same
    /// holds for rows that waited for a row that is here now.
    private mutating func putBeforeDeletions(_ left: inout [ReceivedRow], _ reasons: inout [RowRef: String]) throws {
        let deleted = left.filter { !$0.isAlive }
        if deleted.isEmpty { return }
        left = left.filter(\.isAlive)
        try fitWhatFollows(&left, &reasons)
        left += deleted
    }

    /// Puts come before deletions.
    private func inOrder(_ rows: [ReceivedRow]) -> [ReceivedRow] {
        rows.filter(\.isAlive) + rows.filter { !$0.isAlive }
    }

    /// Adds parked rows to those that are left. If a whole row is left, the parked one is skipped: a deletion has
    /// parked it since, as it found it, which is older.
    private func adding(_ others: [ReceivedRow], to left: [ReceivedRow]) -> [ReceivedRow] {
        if others.isEmpty { return left }
        let whole = Set(left.filter(\.isWhole).map(\.ref))
        return left + others.filter { !whole.contains($0.ref) }
    }

    /// Tries the deletions that are held back, as often as one of them can go: what was below them may have moved by now.
    ///
    /// - Returns: Whether one went.
    private mutating func fitHeldBack() throws -> Bool {
        var held = try parked.takeHeldBack()
        let all = held.count
        var count = Int.max
        while held.count < count {
            count = held.count
            for row in held {
                guard let reason = try attempt([row]) else { continue }
                try parked.park(row, reason: reason, awaiting: nil)
            }
            held = try parked.takeHeldBack()
        }
        for row in held { try parked.park(row, reason: ParkedRows.heldBack, awaiting: nil) }
        return held.count < all
    }

    private func ready(includingOthers: Bool) throws -> [ReceivedRow] {
        try parked.takeReady(rows.tables, includingOthers: includingOthers, hasMore: rows.horizon.hasMore)
    }

    /// Tries rows one by one, with those that waited for one of them.
    private mutating func fitWhatFollows(_ left: inout [ReceivedRow], _ reasons: inout [RowRef: String]) throws {
        var others: [ReceivedRow]
        repeat {
            try fitOneByOne(&left, &reasons)
            others = try ready(includingOthers: false)
            left = inOrder(adding(others, to: left))
        } while !others.isEmpty
    }

    /// Tries rows as often as one of them lets another in.
    private mutating func fitOneByOne(_ left: inout [ReceivedRow], _ reasons: inout [RowRef: String]) throws {
        var count = Int.max
        while left.count < count {
            count = left.count
            var misfits: [ReceivedRow] = []
            for row in left {
                guard let reason = try attempt([row]) else { continue }
                reasons[row.ref] = reason
                misfits.append(row)
                if row.isAlive { rows.waiting.insert(row.ref) }
            }
            left = misfits
            rows.waiting = []
        }
    }

    /// Applies rows in a savepoint of their own. Returns why they do not fit, or nil if they do.
    private mutating func attempt(_ some: [ReceivedRow], vacating: Bool = false) throws -> String? {
        var copy = rows
        var reason: String?
        try db.inSavepoint {
            do {
                let vacancy = try Vacancy(of: vacating ? some.map(\.ref) : [], in: rows.tables, db)
                if vacating { copy.vacancy = vacancy }
                for row in some { try copy.apply(row) }
                try vacancy.restore()
                copy.vacancy = nil
                if !db.holdsForeignKeys { reason = "FOREIGN KEY constraint failed" }
            } catch let error as DatabaseError where error.isConstraint {
                reason = error.message ?? "a constraint of the table"
            }
            return reason == nil ? .commit : .rollback
        }
        if reason == nil { rows = copy }
        return reason
    }

    // MARK: - Together

    /// Applies the largest set that it finds to fit together. Returns the others.
    private mutating func fitTogether(_ left: [ReceivedRow]) throws -> [ReceivedRow] {
        let isTooMuch = left.count > Self.maxTogether
        var candidates = try isTooMuch ? left : couldFit(left)
        if candidates.isEmpty { return left }
        // A row that has become one with another goes first: the other may need its unique values.
        candidates = candidates.filter { $0.mergedInto != nil } + candidates.filter { $0.mergedInto == nil }
        rows.waiting = Set(left.filter(\.isAlive).map(\.ref))
        defer { rows.waiting = [] }
        var fitted: Set<RowRef> = []
        for some in try !isTooMuch && attemptTogether(candidates) ? [candidates] : fitCircles(candidates) {
            fitted.formUnion(some.map(\.ref))
        }
        return left.filter { !fitted.contains($0.ref) }
    }

    /// The rows that only others of them may stand in the way of.
    private func couldFit(_ left: [ReceivedRow]) throws -> [ReceivedRow] {
        var candidates = left
        var count: Int
        repeat {
            count = candidates.count
            let names = Set(candidates.map(\.ref))
            candidates = try candidates.filter {
                try missingParent(of: $0, among: names) == nil && !collides($0, besides: names)
            }
        } while candidates.count < count
        return candidates
    }

    private mutating func attemptTogether(_ some: [ReceivedRow]) throws -> Bool {
        try db.deferringForeignKeys { try attempt(some, vacating: true) } == nil
    }

    /// Applies each circle by itself: a row needs those that it refers to, and those that have a unique value which it is to
    /// have. To go, it needs those that refer to it. Returns the circles that fitted.
    private mutating func fitCircles(_ candidates: [ReceivedRow]) throws -> [[ReceivedRow]] {
        let all = try circles(candidates) { row in
            try row.isAlive ? references(of: row).map(\.parent) + holders(of: row) : holdingBack(row)
        }
        let few = 2...Self.maxTogether
        return try all.filter { try few.contains($0.count) && $0.count < candidates.count && attemptTogether($0) }
    }

    /// The rows of the app's that do not let a row go which they refer to.
    private func holdingBack(_ row: ReceivedRow) throws -> [RowRef] {
        guard let table = rows.tables[row.ref.table] else { return [] }
        let referrers = rows.references.referrers(to: table.layout.name).filter { $0.onDelete == .restrict }
        return try referrers.flatMap { referrer in
            let children = rows.tables[referrer.layout.number]
            return try children?.ids(where: [referrer.column], are: [row.ref.id])
                .map { RowRef(table: referrer.layout.number, id: $0) } ?? []
        }
    }

    /// Keeps rows for later. A circle waits for whatever one of its rows waits for, and not for its own: none of them would
    /// ever come first.
    private func park(_ left: [ReceivedRow], _ reasons: [RowRef: String]) throws {
        for circle in circles(left, by: { references(of: $0).map(\.parent) }) {
            let names = Set(circle.map(\.ref))
            let missing = try circle.lazy.compactMap { try missingParent(of: $0, among: names) }.first
            let isJoint = circle.count > 1 && missing != nil
            for row in circle {
                try parked.park(row, reason: isJoint ? ParkedRows.circle : reasons[row.ref], awaiting: missing)
            }
        }
    }

    /// The rows in circles, in which each needs the others. Most are circles of one.
    private func circles(
        _ some: [ReceivedRow], by needs: (ReceivedRow) throws -> [RowRef]
    ) rethrows -> [[ReceivedRow]] {
        let places = Dictionary(zip(some.map(\.ref), some.indices), uniquingKeysWith: { $1 })
        let all = try some.map { row in try needs(row).compactMap { places[$0] } }
        return Circles.inOrder(needs: all).map { circle in circle.sorted().map { some[$0] } }
    }

    /// Whether a row of the app's that is not among the others has the value of a unique index that this one needs.
    private func collides(_ row: ReceivedRow, besides others: Set<RowRef>) throws -> Bool {
        try holders(of: row).contains { !others.contains($0) }
    }

    /// The other rows of the app's that have the values of a unique index that this one needs.
    private func holders(of row: ReceivedRow) throws -> [RowRef] {
        guard case .row(let patch) = row.content, let table = rows.tables[row.ref.table] else { return [] }
        var found: [RowRef] = []
        for index in try table.uniqueIndexes {
            let columns = index.compactMap { table.layout[column: $0] }
            let values = columns.compactMap { column in patch.values[column.name].map(column.form.stored) }
            guard columns.count == index.count, values.count == index.count, !values.contains(where: \.isNull) else {
                continue
            }
            found += try table.ids(where: columns, are: values).map { RowRef(table: row.ref.table, id: $0) }
        }
        return found.filter { $0 != row.ref }
    }

    /// The rows that this one refers to.
    private func references(of row: ReceivedRow) -> [(table: AppTable, parent: RowRef)] {
        guard case .row(let patch) = row.content, let table = rows.tables[row.ref.table] else { return [] }
        return table.layout.columns.compactMap { column in
            guard let parent = rows.tables.owner(by: column, patch.values[column.name]) else { return nil }
            return rows.tables[parent.table].map { ($0, parent) }
        }
    }

    /// A row that this one refers to, and that is neither here nor among the others.
    func missingParent(of row: ReceivedRow, among others: Set<RowRef>) throws -> RowRef? {
        try references(of: row).first { try !others.contains($0.parent) && !$0.table.contains($0.parent.id) }?.parent
    }
}
