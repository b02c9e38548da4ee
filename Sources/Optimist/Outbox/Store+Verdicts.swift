// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

extension Store {
    /// How long a row waits that the server could not take for now, without a word on how long.
    private static let retryPauseMilliseconds: Int64 = 5_000
    /// How long a row waits for the one it refers to, if nothing settles it before.
    private static let blockedPauseMilliseconds: Int64 = 30_000
    /// How long a row is held that the server cannot take and does not say why.
    private static let heldMilliseconds: Int64 = 24 * 60 * 60 * 1000

    /// Books the verdicts of a push in one transaction, so that the app sees all of them at once (V).
    ///
    /// - Throws: `DatabaseError` if this device could not book them. Nothing is changed then, and the push is repeated (V4).
    func book(_ verdicts: [Verdict], of batch: PushBatch) async throws {
        let now = milliseconds
        try await apply { db in
            var entries = try RowEntryTable(db)
            let tables = AppTables(self.layouts, db)
            for (sent, verdict) in zip(batch.sent, verdicts) {
                guard let table = tables[sent.ref.table], var entry = try entries.entry(sent.ref) else { continue }
                let settlement = try entry.settle(
                    sent, verdict, push: batch.push.number, device: batch.push.device, in: table.layout,
                    quote: table.quote)
                if case .merged(_, let won) = verdict { self.witness(won.clocks) }
                Self.postpone(&entry, verdict, now: now)
                try Self.record(settlement, verdict, sent, entry, now: now, in: db)
                try table.make(settlement.change, at: sent.ref.id)
                try entries.save(entry)
            }
            try Self.release(Self.settled(batch, verdicts), in: db)
            try Meta.set(.inFlight, to: nil, in: db)
            try Meta.set(.lastSync, to: now, in: db)
        }
    }

    private static func postpone(_ entry: inout RowEntry, _ verdict: Verdict, now: Int64) {
        switch verdict {
        case .retry(let after):
            entry.due = now + (after.map { $0.milliseconds } ?? retryPauseMilliseconds)
        case .blocked(let by):
            entry.due = now + blockedPauseMilliseconds
            entry.blocked = by
        default: break
        }
    }

    private static func record(
        _ settlement: Settlement, _ verdict: Verdict, _ sent: SentRow, _ entry: RowEntry, now: Int64, in db: Database
    ) throws {
        if let mine = settlement.rejected, case .rejected(let refusal) = verdict {
            try RejectionTable(db).insert(sent.ref, sent.kind, refusal, mine: mine, at: now)
        }
        if !settlement.overwritten.isEmpty {
            try Journal(db).record(
                sent.ref, reason: verdict == .gone ? .deleted : .overwritten, mine: settlement.overwritten, at: now)
        }
    }

    /// Lets the rows go that waited for one of these.
    private static func release(_ settled: () -> Set<String>, in db: Database) throws {
        let awaited = try String.fetchAll(
            db.cachedStatement(sql: "SELECT DISTINCT blocked FROM optimist_row WHERE blocked IS NOT NULL"))
        guard !awaited.isEmpty else { return }
        for row in settled().intersection(awaited) {
            try db.execute(sql: "UPDATE optimist_row SET due = NULL, blocked = NULL WHERE blocked = ?", arguments: [row])
        }
    }

    /// The rows of a push that are settled, as `Type:id`. Asked for only when some row waits.
    private static func settled(_ batch: PushBatch, _ verdicts: [Verdict]) -> () -> Set<String> {
        {
            Set(
                zip(batch.push.rows, verdicts).compactMap { row, verdict in
                    switch verdict {
                    case .retry, .blocked: nil
                    default: "\(row.table):\(row.id)"
                    }
                })
        }
    }

    /// Holds a row that makes the server refuse whole pushes: it stays pending and is tried again after a day (S9).
    func hold(_ sent: SentRow) async throws {
        let due = milliseconds + Self.heldMilliseconds
        try await apply { db in
            try db.execute(
                sql: "UPDATE optimist_row SET due = ? WHERE tbl = ? AND id = ?",
                arguments: [due, sent.ref.table, sent.ref.id])
        }
    }

    /// Takes a new device id after another database pushed under this one (L3). What is pending stays so.
    func renewDeviceID() async throws {
        try await apply { db in
            try DeviceIdentity.renew(in: db, makeID: self.surroundings.makeID)
            try Meta.set(.push, to: 0, in: db)
        }
    }
}

extension Duration {
    /// Whole milliseconds, rounded up.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
