// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Applies the verdicts of one push within one transaction.
struct PushResults {
    /// How long a row first waits if the server does not take it for now and does not say how long to wait.
    static let retryPauseMilliseconds: Int64 = 5_000
    static let longestPauseMilliseconds: Int64 = 900_000
    /// How long a row waits for the row that it refers to, if no answer settles that row earlier.
    private static let blockedPauseMilliseconds: Int64 = 30_000
    /// How long a row is held that cannot be sent or taken back: one day.
    static let heldMilliseconds: Int64 = 24 * 60 * 60 * 1000

    let batch: PushBatch
    let verdicts: [RemotePush.Verdict]
    var entries: RowEntryTable
    let tables: AppTables
    let references: ReferenceGraph
    let db: Database
    /// The device's time of day, in milliseconds since 1970.
    let now: Int64
    /// The server's time of day. Pauses count from it, because the user may set back the device's clock meanwhile.
    let corrected: Int64
    private var missed: MissedRows
    /// The rows that must be received again.
    var unknown: [RowRef] = []

    init(
        _ verdicts: [RemotePush.Verdict], of batch: PushBatch, layouts: [TableLayout], _ db: Database,
        at milliseconds: Int64,
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
        let (tables, parked, ownDevices) = (tables, ParkedRows(db), try DeviceIdentity.all(in: db))
        self.verdicts = try verdicts.map { verdict in
            let verdict = verdict.tellingUnread(of: ownDevices)
            guard case .blocked(let by) = verdict, let owner = tables.ref(named: by),
                try parked.awaitsDeletion(owner)
            else { return verdict }
            // The server no longer knows that row, and would wait for it forever.
            return .rejected(
                RemotePush.Refusal(code: "invalidProperties", message: "The row that it refers to was deleted."))
        }
    }

    /// Applies all verdicts: first those that are not refusals, then the refusals, with the rows that refer to the refused ones
    /// (V5).
    mutating func apply() throws {
        for (sent, verdict) in zip(batch.sent, verdicts) where verdict.refusal == nil { try apply(verdict, of: sent) }
        for index in batch.sent.indices {
            guard let refusal = verdicts[index].refusal else { continue }
            try reject(index, refusal)
        }
        try missed.settle()
        for (number, refs) in Dictionary(grouping: unknown, by: \.table) {
            if let table = tables[number] { try Store.receiveAnew(refs, of: table.layout, in: db) }
        }
        try release()
        if verdicts.contains(where: \.isBlocked) { try GroupCycles(entries, tables).unite() }
        try postponeUnexplained()
        try GroupJoins(db).forgetSettled()
        try WaitTable(db).forgetEnded()
    }

    private mutating func apply(_ verdict: RemotePush.Verdict, of sent: SentRow) throws {
        guard let table = tables[sent.ref.table], let before = try entries.entry(sent.ref) else { return }
        var entry = before
        let (rendering, outcome) = settle(&entry, sent, verdict, table)
        postpone(&entry, sent, verdict, outcome)
        try record(rendering, outcome, sent, before, in: table)
        do {
            if verdict.isGone, rendering.change == .delete,
                try isTooSoon(deletionOf: sent.ref)
            {
                entry = try setAsideDeletion(verdict, entry, before, reason: .deletionTooSoon)
            } else {
                try make(rendering, of: sent, verdict, in: table)
            }
        } catch let error as DatabaseError where error.isConstraint {
            entry =
                rendering.change == .delete
                ? try setAsideDeletion(verdict, entry, before, reason: ParkedReason(error))
                : try setAside(rendering.change, entry, before, reason: ParkedReason(error))
        }
        try entries.save(entry)
        try noteWait(entry, verdict)
        try noteUnknown(verdict, entry, before, in: table)
        if let clocks = entry.local?.clocks, clocks != before.local?.clocks,
            let latest = clocks.values.compactMap(\.ownStamp).max()
        {
            try db.witness(latest)
        }
        try missed.look(at: entry, before: before)
    }

    /// Updates the values that were kept for columns that only newer apps know. They are deleted when their life ends, and the
    /// server's next life has its own (L1). If a page has already reported that life, that page or a later one has its values
    /// too.
    private func noteUnknown(_ verdict: RemotePush.Verdict, _ entry: RowEntry, _ before: RowEntry, in table: AppTable)
        throws
    {
        if !entry.isAlive, !entry.isPending { return try UnknownColumns(db).forget(entry.ref) }
        guard case .merged(_, let won) = verdict, let life = won.generation, life == entry.generation,
            before.remote.generation < life, !before.isRestored
        else { return }
        try UnknownColumns(db).note(won, at: entry.ref, in: table.layout, present: life, isWhole: true)
    }

    func settle(
        _ entry: inout RowEntry, _ sent: SentRow, _ verdict: RemotePush.Verdict, _ table: AppTable
    ) -> (rendering: Rendering, outcome: Outcome) {
        entry.settle(sent, verdict, push: batch.push.number, device: batch.push.device, in: table.layout)
    }

    private mutating func make(
        _ rendering: Rendering, of sent: SentRow, _ verdict: RemotePush.Verdict, in table: AppTable
    ) throws {
        guard rendering.change == .delete else {
            return try table.make(rendering.change, at: sent.ref.id, keeping: rendering.kept)
        }
        if case .mergedInto(_, let winner) = verdict, let id = table.layout.idForm.stored(winner) {
            let mergers = Mergers(tables, references, db)
            if try mergers.unite(sent.ref, with: RowRef(table: sent.ref.table, id: id), &entries) { return }
        }
        var deletion = self.deletion()
        try deletion.delete(sent.ref, &entries)
    }

    /// The answer comes ahead of the pages, which tell what became of the rows below.
    private func isTooSoon(deletionOf ref: RowRef) throws -> Bool {
        try DeletionTiming(
            entries: entries, tables: tables, references: references, context: PageContext(hasMore: true)
        ).isTooSoon(deletionOf: ref, at: nil)
    }

    func deletion(besides vacancy: Vacancy? = nil) -> RowDeletion {
        RowDeletion(tables, references, db, at: now, besides: vacancy)
    }

    private func postpone(
        _ entry: inout RowEntry, _ sent: SentRow, _ verdict: RemotePush.Verdict, _ outcome: Outcome
    ) {
        guard entry.isPending else { return }
        switch verdict {
        case .retry(let after, _): putOff(&entry, for: after)
        case .lifeUnknown where sent.kind != .update || entry.isKnownToServer:
            // The next pull brings the server's row. A row that is sent whole from now on need not wait for that.
            putOff(&entry, for: nil)
        case .blocked(let by):
            entry.local?.wait(until: corrected + Self.blockedPauseMilliseconds, for: by)
        case .gone where entry.generation == sent.generation && outcome.isUndecided:
            // The row exists again: this answer came late.
            putOff(&entry, for: nil)
        default: break
        }
    }

    /// Stores why the server makes a row wait.
    private func noteWait(_ entry: RowEntry, _ verdict: RemotePush.Verdict) throws {
        guard let due = entry.local?.due, let reason = verdict.waitReason else { return }
        try WaitTable(db).note(reason, of: entry.ref, until: due)
    }

    /// - Parameter wait: The pause that the server asks for, limited to ``ServerDemand/ofRow``. Nil if it names none.
    private func putOff(_ entry: inout RowEntry, for wait: Duration?) {
        guard let edit = entry.local else { return }
        let demanded = wait.map { min(max($0, .zero), ServerDemand.ofRow).milliseconds }
        entry.local?.wait(until: corrected + (demanded ?? Self.retryPause(after: edit.retries)))
        entry.local?.countRetry()
    }

    /// The pause doubles each time that the server postpones the row, up to 15 minutes, until the row is settled. A server that
    /// did not know a column may learn it at any time, and does not announce that.
    static func retryPause(after retries: Int) -> Int64 {
        min(retryPauseMilliseconds << min(retries, 20), longestPauseMilliseconds)
    }

    private func record(
        _ rendering: Rendering, _ outcome: Outcome, _ sent: SentRow, _ before: RowEntry, in table: AppTable
    ) throws {
        let journal = Journal(db)
        if let loss = try Journal.Loss(rendering, of: before, in: table) {
            try journal.record(loss, of: sent.ref, at: now)
        }
        if !outcome.overwritten.isEmpty, case .set(let theirs) = rendering.change {
            try journal.record(
                sent.ref, reason: .overwritten, mine: outcome.overwritten,
                theirs: JSONObject(theirs.filter { outcome.overwritten[$0.key] != nil }), at: now)
        }
    }

    /// Releases the rows that waited for a row that is now settled.
    private func release() throws {
        let awaited = try String.fetchSet(
            db.cachedStatement(sql: "SELECT DISTINCT blocked FROM optimist_edit WHERE blocked IS NOT NULL"))
        if awaited.isEmpty { return }
        for (row, verdict) in zip(batch.push.rows, verdicts) where verdict.isFinal && awaited.contains(row.name) {
            try db.execute(
                sql: "UPDATE optimist_edit SET due = NULL, blocked = NULL, retries = 0 WHERE blocked = ?",
                arguments: [row.name])
        }
    }

    /// Postpones each group that failed although none of its rows is at fault, so that it is not retried in a tight loop.
    private func postponeUnexplained() throws {
        for group in batch.push.groups where group.allSatisfy({ verdicts[$0].isGroupFailed }) {
            for sent in batch.sent[group] {
                try db.cachedStatement(
                    sql: "UPDATE optimist_edit SET due = ? WHERE tbl = ? AND id = ?"
                ).execute(arguments: [corrected + Self.retryPauseMilliseconds, sent.ref.table, sent.ref.id])
                try WaitTable(db).note(
                    DeferralReason("groupFailed"), of: sent.ref, until: corrected + Self.retryPauseMilliseconds)
            }
        }
    }
}
