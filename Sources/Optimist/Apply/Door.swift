// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The one door to the app's tables: whatever a page, an answer or the engine comes to passes here, row by row (R4).
///
/// A row passes whole or not at all: the change of its table, the rows below a deleted one, the journal, the values of
/// columns that this app does not know, and the entry.
struct Door {
    let db: Database
    let tables: AppTables
    let references: ReferenceGraph
    /// The device's time of day, in milliseconds since 1970.
    let milliseconds: Int64
    /// All ids that this device has had.
    let ownDevices: Set<String>
    var entries: RowEntryTable
    /// This device's values that deletions of a page have ended unread. One deletion may take another row of the page
    /// with it before that row's turn comes.
    var endedUnread: [RowRef: UnreadClocks] = [:]
    /// The unique values that are replaced for a moment. The journal must have the original values.
    fileprivate(set) var vacancy: Vacancy?
    /// The rows that the device must receive again.
    var unknown: [RowRef] = []
    private var isAnythingUnknown: Bool?

    init(_ layouts: [TableLayout], _ db: Database, at milliseconds: Int64) throws {
        self.db = db
        tables = AppTables(layouts, db)
        references = ReferenceGraph(layouts)
        self.milliseconds = milliseconds
        ownDevices = try DeviceIdentity.all(in: db)
        entries = try RowEntryTable(db)
    }

    /// Lets a row pass.
    ///
    /// - Throws: `DatabaseError` of a constraint. The row is then as it was.
    mutating func pass(_ passage: Passage) throws {
        guard let table = tables[passage.ref.table] else { return }
        let loss = try Journal.Loss(passage.rendering, of: passage.before, in: table, besides: vacancy)
        try make(passage, in: table)
        try record(loss, passage)
        if passage.entry != passage.before { try entries.save(passage.entry) }
        try noteUnknown(passage, in: table)
    }

    /// Lets a row pass, if the app's constraints allow it.
    ///
    /// - Returns: Why the row does not fit. Nil: it has passed.
    mutating func obstacle(to passage: Passage) throws -> DatabaseError? {
        if passage.rendering.change != .none { return try obstacle { try $0.pass(passage) } }
        try pass(passage)
        return nil
    }

    /// Changes the app's table only.
    mutating func make(_ passage: Passage, in table: AppTable) throws {
        let id = passage.ref.id
        switch passage.rendering.change {
        case .none: break
        case .delete: try delete(passage.ref, passage.deletion)
        case .put(let values): try table.put(values, at: id, keeping: passage.rendering.kept)
        case .set(let values):
            try table.set(values, at: id)
            // A cascade on this device may have deleted the row. The server still has it.
            guard db.changesCount == 0, case .row(let patch)? = passage.told, patch.seq != nil else { return }
            var whole = patch.values
            whole.replace(with: values)
            try table.put(whole, at: id)
        }
    }

    /// Keeps what the user loses in the journal (M7).
    func record(_ loss: Journal.Loss?, _ passage: Passage) throws {
        let journal = Journal(db)
        if let loss { try journal.record(loss, of: passage.ref, at: milliseconds) }
        guard !passage.overwritten.isEmpty, case .set(let theirs) = passage.rendering.change else { return }
        try journal.record(
            passage.ref, reason: .overwritten, mine: passage.overwritten,
            theirs: JSONObject(theirs.filter { passage.overwritten[$0.key] != nil }), at: milliseconds)
    }

    /// Keeps the row's values in columns that this app does not know (L1).
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
            // The server may have lost the values that were kept before.
            try unknown.note(
                patch, at: passage.ref, in: table.layout, present: life,
                isWhole: passage.isWhole && !passage.before.isRestored)
        case .deleted where !passage.entry.isAlive: try unknown.forget(passage.ref)
        // A row that outlives the deletion keeps these values. A later life keeps those that are not of the ended life.
        case .deleted(let tombstone):
            if life > tombstone.generation { try unknown.forget(passage.ref, upTo: tombstone.generation) }
        }
    }
}

// MARK: - Together or not at all

/// Work on rows whose own state goes back with the database, if the rows do not fit.
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
    /// Does some work, and undoes it if a constraint forbids it.
    ///
    /// - Parameters:
    ///   - rows: Rows that may exchange their unique values.
    ///   - deferring: Whether foreign keys are checked at the end of the work, and not when their table says so.
    /// - Returns: Whether the work was kept.
    mutating func attempt(
        exchanging rows: [RowRef] = [], deferring: Bool = false, _ work: (inout Self) throws -> Void
    ) throws -> Bool {
        try obstacle(exchanging: rows, deferring: deferring, to: work) == nil
    }

    /// Does some work as ``attempt(exchanging:deferring:_:)``.
    ///
    /// - Returns: The error of the constraint. Nil: the work was kept.
    mutating func obstacle(
        exchanging rows: [RowRef] = [], deferring: Bool = false, to work: (inout Self) throws -> Void
    ) throws -> DatabaseError? {
        let (former, db) = (self, door.db)
        let obstacle = try db.obstacle(deferring: deferring) { try exchanging(rows, work) }
        if obstacle != nil { self = former }
        return obstacle
    }

    /// Does some work while the unique values of some rows are free.
    ///
    /// - Throws: What the work throws; `DatabaseError` of a constraint if another row has taken such a value.
    mutating func exchanging(_ rows: [RowRef], _ work: (inout Self) throws -> Void) throws {
        if rows.isEmpty { return try work(&self) }
        let vacancy = try Vacancy(of: rows, in: door.tables, door.db)
        door.vacancy = vacancy
        defer { door.vacancy = nil }
        try work(&self)
        try vacancy.restore()
    }
}
