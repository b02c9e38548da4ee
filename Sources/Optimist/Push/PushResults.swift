// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Applies the verdicts of one push within one transaction.
///
/// Invariant: after ``apply()``, each of the user's sent values is accepted, kept in a rejection or in the journal, or
/// still pending.
struct PushResults {
    /// The first pause of a row that the server postpones without a time.
    static let retryPauseMilliseconds: Int64 = 5_000
    static let longestPauseMilliseconds: Int64 = 900_000
    /// How long a blocked row waits if no answer settles its owner earlier.
    private static let blockedPauseMilliseconds: Int64 = 30_000
    /// How long to hold a row that can neither be sent nor taken back: one day.
    static let heldMilliseconds: Int64 = 24 * 60 * 60 * 1000

    private let layouts: [TableLayout]
    let batch: PushBatch
    let verdicts: [RemotePush.Verdict]
    var door: Door
    /// The server's time. Pauses count from it, because the user may set back the device's clock.
    let corrected: Int64
    private var missed: MissedRows

    init(
        _ verdicts: [RemotePush.Verdict], of batch: PushBatch, layouts: [TableLayout], _ db: Database,
        at milliseconds: Int64, corrected: Int64
    ) throws {
        self.layouts = layouts
        self.batch = batch
        self.corrected = corrected
        let door = try Door(layouts, db, at: milliseconds)
        self.door = door
        missed = try MissedRows(layouts, db, at: milliseconds)
        let homes = RowHomes(door.tables, door.entries)
        var reading = VerdictReading(door, homes, at: corrected)
        let carried = try Passengers(batch: batch, tables: door.tables, homes: homes).carried(verdicts)
        self.verdicts = try zip(batch.sent, carried).map { try reading.read($1, of: $0) }
    }

    /// Applies refusals last, each with the rows that refer to the refused row (V5).
    mutating func apply() throws {
        for (sent, verdict) in zip(batch.sent, verdicts) where verdict.refusal == nil { try apply(verdict, of: sent) }
        for index in batch.sent.indices {
            guard let refusal = verdicts[index].refusal else { continue }
            try reject(index, refusal)
        }
        try missed.settle()
        try Store.receiveAnew(door.toReceive, of: layouts, in: door.db)
        try release()
        if verdicts.contains(where: \.isBlocked) { try GroupCycles(door.entries, door.tables).unite() }
        try postponeUnexplained()
        try GroupJoins(door.db).forgetSettled()
        try WaitTable(door.db).forgetEnded()
    }

    private mutating func apply(_ verdict: RemotePush.Verdict, of sent: SentRow) throws {
        guard let settled = try settle(sent, verdict) else { return }
        var passage = settled.passage
        postpone(&passage.entry, sent, verdict, settled.outcome)
        if case .mergedInto(_, let winner) = verdict,
            let id = door.tables[sent.ref.table]?.layout.idForm.stored(winner)
        {
            passage.deletion = .united(with: id)
        }
        noteContent(of: verdict, in: &passage)
        let entry = try pass(passage, isTooSoon: verdict.isGone && isTooSoon(passage))
        try noteWait(entry, verdict)
        let before = passage.before
        if let clocks = entry.local?.clocks, clocks != before.local?.clocks,
            let latest = clocks.values.compactMap(\.ownStamp).max()
        {
            try door.db.witness(latest)
        }
        try missed.look(at: entry, before: before)
    }

    /// Nil if the row is unknown.
    func settle(_ sent: SentRow, _ verdict: RemotePush.Verdict) throws -> (passage: Passage, outcome: Outcome)? {
        guard let table = door.tables[sent.ref.table], let before = try door.entries.entry(sent.ref) else { return nil }
        var entry = before
        let isWhereItWas = [sent.source ?? sent.scope, sent.scope].contains(before.remote.scope)
        let destination = try destination(verdict)
        if !isWhereItWas || destination != nil {
            entry.local?.takeBack(sent)
            var rendering = Rendering()
            if isWhereItWas, let destination, entry.goesOn(to: destination) {
                rendering = entry.rebase(
                    to: destination, anchor: table.layout.anchor, device: batch.push.device, in: table.layout)
            }
            return (Passage(before: before, entry: entry, rendering: rendering), Outcome(isUndecided: true))
        }
        let (rendering, outcome) = entry.settle(
            sent, verdict, push: batch.push.number, device: batch.push.device, in: table.layout)
        let passage = Passage(before: before, entry: entry, rendering: rendering, overwritten: outcome.overwritten)
        return (passage, outcome)
    }

    /// The present scope of a row that has moved, if this person can use that scope.
    private func destination(_ verdict: RemotePush.Verdict) throws -> MoveDestination? {
        guard case .gone(_, let tombstone?) = verdict else { return nil }
        return try tombstone.movedTo.flatMap { try MoveDestination($0, at: tombstone.seq ?? .max, in: door.db) }
    }

    /// Passes a row, or sets aside the server's version. Returns the row's entry.
    @discardableResult
    mutating func pass(_ passage: Passage, isTooSoon: Bool = false) throws -> RowEntry {
        guard let reason = try isTooSoon ? .deletionTooSoon : door.tryPass(passage).map(ParkedReason.init) else {
            return passage.entry
        }
        return try door.setAside(passage, reason, device: batch.push.device)
    }

    /// Whether the deletion is too soon, because the answer is ahead of the pages that report the deleted row's
    /// children.
    private func isTooSoon(_ passage: Passage) throws -> Bool {
        guard passage.rendering.change == .delete else { return false }
        return try DeletionTiming(door: door, context: PageContext(hasMore: true))
            .isTooSoon(deletionOf: passage.ref, at: nil)
    }

    /// Notes the row's new life, or its end, for the values of unknown columns (L1). If a page has already reported
    /// that life, that page or a later page has these values.
    private func noteContent(of verdict: RemotePush.Verdict, in passage: inout Passage) {
        if !passage.entry.isAlive, !passage.entry.isPending {
            passage.told = .deleted(Tombstone(generation: passage.entry.generation, clock: nil))
        } else if case .merged(_, let won) = verdict, let life = won.generation, life == passage.entry.generation,
            passage.before.remote.generation < life, !passage.before.isRestored
        {
            passage.told = .row(won)
            passage.isWhole = true
        }
    }

    private func postpone(
        _ entry: inout RowEntry, _ sent: SentRow, _ verdict: RemotePush.Verdict, _ outcome: Outcome
    ) {
        guard entry.isPending else { return }
        switch verdict {
        case .retry(let after, _): putOff(&entry, for: after)
        case .lifeUnknown where sent.kind != .update || entry.isKnownToServer:
            // The next pull brings the server's row, unless the row is now sent in full.
            putOff(&entry, for: nil)
        case .blocked(let by):
            entry.local?.wait(until: corrected + Self.blockedPauseMilliseconds, for: by)
        case .gone where entry.generation == sent.generation && outcome.isUndecided:
            // The row exists again, so this answer is outdated.
            putOff(&entry, for: nil)
        default: break
        }
    }

    private func noteWait(_ entry: RowEntry, _ verdict: RemotePush.Verdict) throws {
        guard let due = entry.local?.due, let reason = verdict.waitReason else { return }
        try WaitTable(door.db).note(reason, of: entry.ref, until: due)
    }

    /// - Parameter wait: At most ``ServerDemand/ofRow``. Nil if unspecified.
    private func putOff(_ entry: inout RowEntry, for wait: Duration?) {
        guard let edit = entry.local else { return }
        let demanded = wait.map { min(max($0, .zero), ServerDemand.ofRow).milliseconds }
        entry.local?.wait(until: corrected + (demanded ?? Self.retryPause(after: edit.retries)))
        entry.local?.countRetry()
    }

    /// Doubles with each postponement until the row is settled, but only up to 15 minutes, because the server may learn
    /// a new column at any time.
    static func retryPause(after retries: Int) -> Int64 {
        min(retryPauseMilliseconds << min(retries, 20), longestPauseMilliseconds)
    }

    private func release() throws {
        let awaited = try String.fetchSet(
            door.db.cachedStatement(sql: "SELECT DISTINCT blocked FROM optimist_edit WHERE blocked IS NOT NULL"))
        if awaited.isEmpty { return }
        for (row, verdict) in zip(batch.push.rows, verdicts) where verdict.isFinal && awaited.contains(row.name) {
            try door.db.execute(
                sql: "UPDATE optimist_edit SET due = NULL, blocked = NULL, retries = 0 WHERE blocked = ?",
                arguments: [row.name])
        }
    }

    /// Avoids a tight retry loop for failed groups without an edited row at fault.
    private mutating func postponeUnexplained() throws {
        for group in batch.push.groups where group.contains(where: { verdicts[$0].isGroupFailed }) {
            guard group.allSatisfy({ verdicts[$0].isGroupFailed || batch.sent[$0].mask == 0 }) else { continue }
            for sent in batch.sent[group] {
                guard var entry = try door.entries.entry(sent.ref), entry.isPending else { continue }
                putOff(&entry, for: nil)
                try door.entries.save(entry)
                if let due = entry.local?.due {
                    try WaitTable(door.db).note(DeferralReason("groupFailed"), of: sent.ref, until: due)
                }
            }
        }
    }
}
