// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Books the verdicts of one push within one transaction.
struct Booking {
    /// How long a row waits that the server could not take for now, without a word on how long.
    static let retryPauseMilliseconds: Int64 = 5_000
    static let longestPauseMilliseconds: Int64 = 900_000
    /// How long a row waits for the one it refers to, if nothing settles it before.
    private static let blockedPauseMilliseconds: Int64 = 30_000
    /// How long a row is held that cannot be sent or taken back, if the server does not say why.
    static let heldMilliseconds: Int64 = 24 * 60 * 60 * 1000
    /// The longest that a server can put a row off: what it says may be wrong.
    static let longestDemand = Duration.milliseconds(heldMilliseconds)

    let batch: PushBatch
    let verdicts: [Verdict]
    var entries: RowEntryTable
    let tables: AppTables
    let references: ReferenceGraph
    let db: Database
    /// The device's time of day.
    let now: Int64
    /// The server's, from which waits count: the device's may be set back meanwhile.
    let corrected: Int64
    private var missed: MissedRows
    /// The rows that must be received again.
    var unknown: [RowRef] = []

    init(
        _ verdicts: [Verdict], of batch: PushBatch, layouts: [TableLayout], _ db: Database, at milliseconds: Int64,
        corrected: Int64
    ) throws {
        self.batch = batch
        entries = try RowEntryTable(db)
        tables = AppTables(layouts, db)
        references = ReferenceGraph(layouts)
        self.db = db
        now = milliseconds
        self.corrected = corrected
        missed = try MissedRows(layouts, db, at: milliseconds)
        let (tables, parked) = (tables, ParkedRows(db))
        self.verdicts = try verdicts.map { verdict in
            guard case .blocked(let by) = verdict, let owner = tables.ref(named: by),
                try parked.awaitsDeletion(owner)
            else { return verdict }
            // The server has forgotten that row by now, and would wait for it for ever.
            return .rejected(Refusal(code: "invalidProperties", message: "The row that it refers to was deleted."))
        }
    }

    /// Books everything: what was taken first, then what was refused, with what refers to it (V5).
    mutating func book() throws {
        for (sent, verdict) in zip(batch.sent, verdicts) where verdict.refusal == nil { try book(verdict, of: sent) }
        for index in batch.sent.indices {
            guard let refusal = verdicts[index].refusal else { continue }
            try reject(index, refusal)
        }
        try missed.settle()
        for (number, refs) in Dictionary(grouping: unknown, by: \.table) {
            if let table = tables[number] { try Store.receiveAnew(refs, of: table.layout, in: db) }
        }
        try release()
        if verdicts.contains(where: \.isBlocked) { try GroupCircles(entries, tables).unite() }
        try postponeUnexplained()
        try GroupJoins(db).forgetSettled()
        try WaitTable(db).forgetEnded()
    }

    private mutating func book(_ verdict: Verdict, of sent: SentRow) throws {
        guard let table = tables[sent.ref.table], let before = try entries.entry(sent.ref) else { return }
        var entry = before
        let settlement = try settle(&entry, sent, verdict, table)
        postpone(&entry, sent, verdict, settlement)
        if case .blocked(let by) = verdict { try standAgain(&entry, besides: by, in: table) }
        if settlement.isUnknown { unknown.append(sent.ref) }
        try record(settlement, sent, before, in: table)
        do {
            if verdict.isGone, settlement.change == .delete,
                try cascade().isTooSoon(deletionOf: sent.ref, at: nil, Horizon(hasMore: true))
            {
                entry = try setAsideDeletion(verdict, entry, before, reason: ParkedRows.heldBack)
            } else {
                try make(settlement, of: sent, verdict, in: table)
            }
        } catch let error as DatabaseError where error.isConstraint {
            entry =
                settlement.change == .delete
                ? try setAsideDeletion(verdict, entry, before, reason: error.message)
                : try setAside(settlement.change, entry, before, reason: error.message)
        }
        try entries.save(entry)
        try noteWait(entry, verdict)
        try noteUnknown(verdict, entry, before, in: table)
        if entry.stamps != before.stamps, let latest = entry.stamps.values.max() { try db.witness(latest) }
        try missed.look(at: entry, before: before)
    }

    /// The values that were kept for columns of a newer app go with their life, and the server's next life has its own
    /// (L1). If a page has told of that life already, that page or a later one has these values too.
    private func noteUnknown(_ verdict: Verdict, _ entry: RowEntry, _ before: RowEntry, in table: AppTable) throws {
        if !entry.isAlive, !entry.isPending { return try UnknownColumns(db).forget(entry.ref) }
        guard case .merged(_, let won) = verdict, let life = won.generation, life == entry.generation,
            before.acked < life
        else { return }
        try UnknownColumns(db).note(won, at: entry.ref, in: table.layout, present: life, isWhole: true)
    }

    func settle(_ entry: inout RowEntry, _ sent: SentRow, _ verdict: Verdict, _ table: AppTable) throws -> Settlement {
        try entry.book(
            sent, verdict, push: batch.push.number, device: batch.push.device, in: table.layout, quote: table.quote)
    }

    private mutating func make(
        _ settlement: Settlement, of sent: SentRow, _ verdict: Verdict, in table: AppTable
    ) throws {
        guard settlement.change == .delete else {
            return try table.make(settlement.change, at: sent.ref.id, keeping: settlement.kept)
        }
        if case .mergedInto(_, let winner) = verdict, let id = table.layout.idForm.stored(winner) {
            let mergers = Mergers(tables, references, db)
            if try mergers.unite(sent.ref, with: RowRef(table: sent.ref.table, id: id), &entries) { return }
        }
        var cascade = self.cascade()
        try cascade.delete(sent.ref)
        entries = cascade.entries
    }

    func cascade(besides vacancy: Vacancy? = nil) -> ReceivedCascade {
        ReceivedCascade(entries, tables, references, db, at: now, besides: vacancy)
    }

    private func postpone(
        _ entry: inout RowEntry, _ sent: SentRow, _ verdict: Verdict, _ settlement: Settlement
    ) {
        guard entry.isPending else { return }
        switch verdict {
        case .retry(let after, _): putOff(&entry, for: after)
        case .lifeUnknown where sent.kind != .update || entry.isKnownToServer && !entry.isHealing:
            // A pull shows the server's row. A row that is sent whole from now on does not need to wait for that.
            putOff(&entry, for: nil)
        case .blocked(let by):
            entry.due = corrected + Self.blockedPauseMilliseconds
            entry.blocked = by
        case .gone where entry.generation == sent.generation && settlement.isUndecided:
            // It is there again: the answer was late.
            putOff(&entry, for: nil)
        default: break
        }
    }

    /// Keeps what the server said of a row that waits.
    private func noteWait(_ entry: RowEntry, _ verdict: Verdict) throws {
        guard entry.isPending, let due = entry.due, let reason = verdict.waitReason else { return }
        try WaitTable(db).note(reason, of: entry.ref, until: due)
    }

    /// - Parameter wait: As long as the server asks for, at most ``longestDemand``. Nil: it does not say.
    private func putOff(_ entry: inout RowEntry, for wait: Duration?) {
        let demanded = wait.map { min(max($0, .zero), Self.longestDemand).milliseconds }
        entry.due = corrected + (demanded ?? Self.retryPause(after: entry.retries))
        entry.retries += 1
    }

    /// Doubles each time that the server puts the row off, until the row is settled, up to a quarter of an hour. A
    /// server that did not know a column may know it at any time, and does not say so.
    static func retryPause(after retries: Int) -> Int64 {
        min(retryPauseMilliseconds << min(retries, 20), longestPauseMilliseconds)
    }

    private func record(_ settlement: Settlement, _ sent: SentRow, _ before: RowEntry, in table: AppTable) throws {
        let journal = Journal(db)
        if let loss = try Journal.Loss(settlement.lost, of: before, by: settlement.change, in: table) {
            try journal.record(loss, of: sent.ref, at: now)
        }
        if !settlement.overwritten.isEmpty, case .set(let theirs) = settlement.change {
            try journal.record(
                sent.ref, reason: .overwritten, mine: settlement.overwritten,
                theirs: JSONObject(theirs.filter { settlement.overwritten[$0.key] != nil }), at: now)
        }
    }

    /// Lets the rows go that waited for one that is settled now.
    private func release() throws {
        let awaited = try String.fetchSet(
            db.cachedStatement(sql: "SELECT DISTINCT blocked FROM optimist_row WHERE blocked IS NOT NULL"))
        if awaited.isEmpty { return }
        for (row, verdict) in zip(batch.push.rows, verdicts) where verdict.isFinal && awaited.contains(row.name) {
            try db.execute(
                sql: "UPDATE optimist_row SET due = NULL, blocked = NULL, retries = 0 WHERE blocked = ?",
                arguments: [row.name])
        }
    }

    /// A group that failed by no row of its own is tried again after a pause, and not at once for ever.
    private func postponeUnexplained() throws {
        for group in batch.push.groups where group.allSatisfy({ verdicts[$0].isGroupFailed }) {
            for sent in batch.sent[group] {
                try db.cachedStatement(
                    sql: "UPDATE optimist_row SET due = ? WHERE tbl = ? AND id = ? AND pending IS NOT NULL"
                ).execute(arguments: [corrected + Self.retryPauseMilliseconds, sent.ref.table, sent.ref.id])
                try WaitTable(db).note(
                    WaitReason("groupFailed"), of: sent.ref, until: corrected + Self.retryPauseMilliseconds)
            }
        }
    }
}

extension Verdict {
    /// The server's values that won against the sent ones.
    var won: RowPatch? { if case .merged(_, let won) = self { won } else { nil } }
    var refusal: Refusal? { if case .rejected(let refusal) = self { refusal } else { nil } }

    /// The row as the server has it, which it says of what it did not take.
    var current: RowPatch? {
        if case .groupFailed(_, let row) = self { row } else { refusal?.current }
    }

    /// Why a row waits after this.
    var waitReason: WaitReason? {
        switch self {
        case .retry(_, let reason): reason
        case .lifeUnknown: WaitReason("lifeUnknown")
        case .accepted, .merged, .mergedInto, .gone, .rejected, .blocked, .groupFailed: nil
        }
    }

    var isGone: Bool { if case .gone = self { true } else { false } }

    var isBlocked: Bool { if case .blocked = self { true } else { false } }

    var isGroupFailed: Bool { if case .groupFailed = self { true } else { false } }

    /// Whether the row was settled, one way or the other.
    var isFinal: Bool {
        switch self {
        case .retry, .lifeUnknown, .blocked, .groupFailed: false
        case .accepted, .merged, .mergedInto, .gone, .rejected: true
        }
    }
}
