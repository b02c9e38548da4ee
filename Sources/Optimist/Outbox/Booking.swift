// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Books the verdicts of one push within one transaction.
struct Booking {
    /// How long a row waits that the server could not take for now, without a word on how long.
    private static let retryPauseMilliseconds: Int64 = 5_000
    /// How long a row waits for the one it refers to, if nothing settles it before.
    private static let blockedPauseMilliseconds: Int64 = 30_000
    /// How long a row is held that cannot be sent or taken back, and nobody says why.
    static let heldMilliseconds: Int64 = 24 * 60 * 60 * 1000

    let push: Push
    var entries: RowEntryTable
    let tables: AppTables
    let db: Database
    let now: Int64

    mutating func book(_ verdict: Verdict, of sent: SentRow) throws {
        guard let table = tables[sent.ref.table], let before = try entries.entry(sent.ref) else { return }
        var entry = before
        let settlement = try entry.settle(
            sent, verdict, push: push.number, device: push.device, in: table.layout, quote: table.quote)
        postpone(&entry, verdict)
        try record(settlement, verdict, sent, before, in: table)
        do {
            try table.make(settlement.change, at: sent.ref.id, keeping: settlement.kept)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            entry = try setAside(settlement.change, entry, before, reason: error.message, id: table.layout.idForm)
        }
        try entries.save(entry)
    }

    private func postpone(_ entry: inout RowEntry, _ verdict: Verdict) {
        switch verdict {
        case .retry(let after):
            entry.due = now + (after.map { $0.milliseconds } ?? Self.retryPauseMilliseconds)
        case .blocked(let by):
            entry.due = now + Self.blockedPauseMilliseconds
            entry.blocked = by
        default: break
        }
    }

    private func record(
        _ settlement: Settlement, _ verdict: Verdict, _ sent: SentRow, _ before: RowEntry, in table: AppTable
    ) throws {
        if let mine = settlement.rejected, case .rejected(let refusal) = verdict {
            try RejectionTable(db).insert(sent.ref, sent.kind, refusal, mine: mine, at: now)
        }
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

    /// The app's own constraints stand against what the server says. One row never fails a booking (S8): the server's
    /// values are parked, and a row that cannot be taken back stays pending, and is held.
    private func setAside(
        _ change: RowChange, _ settled: RowEntry, _ before: RowEntry, reason: String?, id: UUIDForm
    ) throws -> RowEntry {
        switch change {
        case .put(let values), .set(let values):
            let patch = RowPatch(generation: settled.generation, values: values)
            try ParkedRows(db).park(
                patch.json(id: id.wire(settled.ref.id)), settled.ref, seq: settled.seq, reason: reason)
            return settled
        case .none, .delete:
            var held = before
            held.due = now + Self.heldMilliseconds
            return held
        }
    }

    /// Lets the rows go that waited for one that is settled now.
    func release(_ answers: [(row: PushRow, verdict: Verdict)]) throws {
        let awaited = try String.fetchSet(
            db.cachedStatement(sql: "SELECT DISTINCT blocked FROM optimist_row WHERE blocked IS NOT NULL"))
        if awaited.isEmpty { return }
        for (row, verdict) in answers where awaited.contains("\(row.table):\(row.id)") {
            switch verdict {
            case .retry, .blocked: continue
            default:
                try db.execute(
                    sql: "UPDATE optimist_row SET due = NULL, blocked = NULL WHERE blocked = ?",
                    arguments: ["\(row.table):\(row.id)"])
            }
        }
    }
}
