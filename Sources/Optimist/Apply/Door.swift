// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The one door to the app's tables. Every change that a page, an answer or the engine makes to a row passes through
/// this type (R4). Only the user's writes and the new rows of a first sync (``RowApplication``) do not.
///
/// A row passes as a unit: its table, the rows below a deleted one, the journal, the values of unknown columns, and the
/// entry change together or not at all.
///
/// Invariant: after each row, its entry matches the app's table. Unique values are replaced only within
/// ``RowWork/exchanging(_:_:)``.
struct Door {
    let db: Database
    let tables: AppTables
    let references: ReferenceGraph
    /// The device's time, since 1970.
    let milliseconds: Int64
    /// All ids that this device has had.
    let ownDevices: Set<String>
    var entries: RowEntryTable
    /// This device's values that the page's deletions end although the deleting user had not read them. Collected
    /// first, because one deletion may cascade to another row of the page before that row's turn.
    var endedUnread: [RowRef: UnreadClocks] = [:]
    /// Temporarily replaced values. The journal needs the originals.
    fileprivate(set) var vacancy: Vacancy?
    /// The rows that are taken back together and have yet to pass. Cascades do not treat them as rows below.
    var takingBack: Set<RowRef> = []
    /// Rows that were taken back but did not fit. Their server versions are parked.
    var rowsSetAside: Set<RowRef> = []
    /// Rows that the device must receive again, for the caller to request.
    var toReceive: [RowRef] = []
    private var isAnythingUnknown: Bool?
    private var hasDeferredForeignKeys: Bool?

    init(_ layouts: [TableLayout], _ db: Database, at milliseconds: Int64) throws {
        self.db = db
        tables = AppTables(layouts, db)
        references = ReferenceGraph(layouts)
        self.milliseconds = milliseconds
        ownDevices = try DeviceIdentity.all(in: db)
        entries = try RowEntryTable(db)
    }

    /// - Throws: `DatabaseError` of a constraint. The row is then unchanged.
    mutating func pass(_ passage: Passage) throws {
        guard let table = tables[passage.ref.table] else { return }
        let loss = try Journal.Loss(passage.rendering, of: passage.before, in: table, besides: vacancy)
        let isMissing = try !make(passage, in: table)
        try record(loss, passage)
        var entry = passage.entry
        if isMissing {
            entry.remote.withdraw()
            if try ParkedRows(db).content(of: entry) == nil { toReceive.append(passage.ref) }
        }
        if entry != passage.before { try entries.save(entry) }
        try noteUnknown(passage, in: table)
    }

    private var defersForeignKeys: Bool {
        mutating get throws {
            let known = try hasDeferredForeignKeys ?? db.hasDeferredForeignKeys
            hasDeferredForeignKeys = known
            return known
        }
    }

    /// - Returns: The constraint's error. Nil if the row has passed.
    mutating func tryPass(_ passage: Passage) throws -> DatabaseError? {
        // A failed statement changes nothing, unless a foreign key is checked later.
        if passage.rendering.change != .none, try defersForeignKeys { return try attempt { try $0.pass(passage) } }
        do {
            try pass(passage)
            return nil
        } catch let error as DatabaseError where error.isConstraint {
            return error
        }
    }

    /// Changes the app's table only.
    ///
    /// - Returns: False if the table lacks the row, for example after a cascade, and the event did not report the full
    ///   row.
    @discardableResult
    mutating func make(_ passage: Passage, in table: AppTable) throws -> Bool {
        let id = passage.ref.id
        switch passage.rendering.change {
        case .none: break
        case .delete: try delete(passage.ref, passage.deletion)
        case .put(let values): try table.put(values, at: id, keeping: passage.rendering.kept)
        case .set(let values):
            try table.set(values, at: id)
            if db.changesCount > 0 { return true }
            guard case .row(let patch)? = passage.told, patch.seq != nil else { return false }
            var whole = patch.values
            whole.replace(with: values)
            try table.put(whole, at: id)
        }
        return true
    }

    func record(_ loss: Journal.Loss?, _ passage: Passage) throws {
        let journal = Journal(db)
        if let loss { try journal.record(loss, of: passage.ref, at: milliseconds) }
        let mine = passage.overwritten
        if mine.isEmpty { return }
        guard case .set(let values) = passage.rendering.change else {
            return try journal.record(passage.ref, reason: .deleted, mine: mine, at: milliseconds)
        }
        let theirs = JSONObject(values.filter { mine[$0.key] != nil })
        try journal.record(passage.ref, reason: .overwritten, mine: mine, theirs: theirs, at: milliseconds)
    }

    /// Keeps values of columns that this app does not know (L1).
    mutating func noteUnknown(_ passage: Passage, in table: AppTable) throws {
        guard let told = passage.told else { return }
        let unknown = UnknownColumns(db)
        if case .row(let patch) = told, table.lacksColumn(in: patch.values) { isAnythingUnknown = true }
        let isAny = try isAnythingUnknown ?? !unknown.isEmpty
        isAnythingUnknown = isAny
        guard isAny else { return }
        let life = passage.entry.generation
        switch told {
        case .row(let patch):
            // The server may have lost values that were kept before.
            try unknown.note(
                patch, at: passage.ref, in: table.layout, present: life,
                isWhole: passage.isWhole && !passage.before.isRestored)
        case .deleted where !passage.entry.isAlive: try unknown.forget(passage.ref)
        // A row that outlives the deletion keeps these values. A later life drops the ended life's values.
        case .deleted(let tombstone):
            if life > tombstone.generation { try unknown.forget(passage.ref, upTo: tombstone.generation) }
        }
    }
}

// MARK: - Attempts

/// Work whose in-memory state is restored after a rollback.
protocol RowWork {
    var door: Door { get set }
}

extension Door: RowWork {
    var door: Door {
        get { self }
        set { self = newValue }
    }
}

extension RowWork {
    /// Does some work, and undoes it if a constraint fails.
    ///
    /// - Parameters:
    ///   - rows: Rows that may exchange their unique values.
    ///   - deferring: Whether all foreign keys are checked at the end of the work.
    /// - Returns: The constraint's error. Nil if the work was kept.
    mutating func attempt(
        exchanging rows: [RowRef] = [], deferring: Bool = false, _ work: (inout Self) throws -> Void
    ) throws -> DatabaseError? {
        let (former, db) = (self, door.db)
        let obstacle = try db.attempt(deferring: deferring) { try exchanging(rows, work) }
        if obstacle != nil { self = former }
        return obstacle
    }

    /// Does some work while the unique values of some rows are free.
    ///
    /// - Throws: Errors of the work, and `DatabaseError` of a constraint if another row has taken such a value.
    mutating func exchanging(_ rows: [RowRef], _ work: (inout Self) throws -> Void) throws {
        if rows.isEmpty { return try work(&self) }
        let vacancy = try Vacancy(of: rows, in: door.tables, door.db)
        door.vacancy = vacancy
        defer { door.vacancy = nil }
        try work(&self)
        try vacancy.restore()
    }
}
