// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
@_spi(Internals) import OptimistWire

extension Store {
    /// Applies the verdicts of a push in one transaction, so that the app sees all of them together (V).
    ///
    /// Ignores the verdicts of a push that is no longer in flight. A later push carries everything.
    ///
    /// - Parameter epoch: The remote database's epoch at the time of the verdicts, if the remote has epochs.
    /// - Returns: Whether pages are needed, to release held deletions or to receive rows again.
    /// - Throws: `DatabaseError`, with no change, if this device could not apply the verdicts. The push is repeated
    ///   (V4).
    @discardableResult
    func apply(_ verdicts: [RemotePush.Verdict], of batch: PushBatch, in epoch: String? = nil) async throws -> Bool {
        let now = milliseconds
        return try await apply { db in
            guard try Meta.int(.inFlight, in: db) == batch.push.number else { return false }
            if let epoch {
                let stored = zip(batch.sent, verdicts).filter { $1.isStored }
                for scope in Set(stored.map(\.0.scope)).sorted() {
                    try Scope.update(scope, in: db) { $0.note(epoch: epoch) }
                }
            }
            return try self.apply(verdicts, of: batch, in: db, at: now)
        }
    }

    private func apply(_ verdicts: [RemotePush.Verdict], of batch: PushBatch, in db: Database, at now: Int64) throws
        -> Bool
    {
        for verdict in verdicts { witness((verdict.won ?? verdict.current)?.clocks) }
        try UnseenSettling.keepEdited(layouts, db)
        var results = try PushResults(
            verdicts, of: batch, layouts: layouts, db, at: now, corrected: correctedMilliseconds)
        try results.apply()
        if verdicts.contains(where: { $0.refusal != nil }) { try leaveRefusedSpaces(in: db, at: now) }
        try PageApplication(layouts, db, at: now, PageContext(hasMore: true)).retryParked()
        try SendingOrder(db).release()
        try Meta.set(.inFlight, to: nil, in: db)
        try Meta.set(.unanswered, to: nil, in: db)
        try Meta.set(.lastSync, to: now, in: db)
        return try !results.door.toReceive.isEmpty || ParkedRows(db).holdsDeletionsBack
    }

    /// Refuses every row of a push that has only one unit, after the push itself has failed. The server's rows are
    /// unknown, so deleted rows are received again. Returns whether pages are needed.
    @discardableResult
    func refuse(_ refusal: RemotePush.Refusal, _ batch: PushBatch) async throws -> Bool {
        let now = milliseconds
        let others = batch.sent.dropFirst().map { _ in RemotePush.Verdict.groupFailed(by: [], current: nil) }
        return try await apply { db in
            let entries = try RowEntryTable(db)
            for sent in batch.sent.dropFirst() {
                guard let entry = try entries.entry(sent.ref), let group = entry.local?.group else { continue }
                try GroupJoins(db).keepWhole(group.rawValue)
            }
            return try self.apply([.rejected(refusal)] + others, of: batch, in: db, at: now)
        }
    }

    /// Holds a unit that makes the server refuse pushes as a whole. It stays pending and is retried after a day (S9).
    func hold(_ batch: PushBatch) async throws {
        let due = correctedMilliseconds + PushResults.heldMilliseconds
        try await apply { db in
            try Meta.set(.unanswered, to: nil, in: db)
            for sent in batch.sent {
                try db.execute(
                    sql: "UPDATE optimist_edit SET due = ? WHERE tbl = ? AND id = ?",
                    arguments: [due, sent.ref.table, sent.ref.id])
                try WaitTable(db).note(DeferralReason("held"), of: sent.ref, until: due)
            }
        }
    }

    /// The verdicts. If this device does not know the answer's epoch for a row's table yet, a retry replaces the row's
    /// verdict, unless the answer is about a space that the server does not know.
    ///
    /// If the database went back, a missing row may be lost, not deleted. The database may also lose an accepted change
    /// before the device pulls it. So the device sends the row again as soon as it knows how both epochs are related.
    func believable(_ answer: RemotePush.Answer, of batch: PushBatch) async throws -> [RemotePush.Verdict] {
        guard let epoch = answer.epoch else { return answer.verdicts }
        return try await read { db in
            var known = KnownEpochs(self.layouts, db)
            return try zip(batch.sent, answer.verdicts).map { sent, verdict in
                if verdict.waitReason?.isOutside == true { return verdict }
                // A move is also about the row's former scope.
                let scopes = [sent.scope, sent.source ?? sent.scope]
                let isKnown = try scopes.allSatisfy { try known.epoch(of: sent, in: $0) ?? epoch == epoch }
                return isKnown ? verdict : .retry(after: nil, .restarted)
            }
        }
    }
}

/// The epochs in which the device knows the tables of scopes.
private struct KnownEpochs {
    private struct Place: Hashable { let scope, table: Int64 }

    private let layouts: [TableLayout]
    private let db: Database
    private var epochs: [Place: String?] = [:]

    init(_ layouts: [TableLayout], _ db: Database) {
        self.layouts = layouts
        self.db = db
    }

    /// Nil if unknown, or if cursors are not ordered.
    mutating func epoch(of sent: SentRow, in scope: Int64) throws -> String? {
        let place = Place(scope: scope, table: sent.ref.table)
        if let known = epochs[place] { return known }
        let epoch = try fetch(place)
        epochs[place] = .some(epoch)
        return epoch
    }

    private func fetch(_ place: Place) throws -> String? {
        guard try Meta.guarantees(in: db).hasOrderedCursors else { return nil }
        let table = layouts.first { $0.number == place.table }?.name
        // The device asks for no page until the server has admitted the person.
        if table == MemberRow.databaseTableName, try Scope.isEntering(place.scope, in: db) { return nil }
        let progress = try table.flatMap { try ProgressTable(db, of: place.scope).fetch($0) }
        return try progress?.state?.epoch ?? Scope.fetch(place.scope, in: db).epochs.last?.name
    }
}
