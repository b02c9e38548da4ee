// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

extension Store {
    /// Goes back to the last point that the tables have in common with the remote, whose database went back, and marks what
    /// is known from later as pending again (L3). Nothing is removed.
    ///
    /// - Parameters:
    ///   - asked: The tables that the remote was asked for. The others go back with them, as far as the answer tells where
    ///     they stand: the epochs are noted for all.
    ///   - cursor: What it was asked with. Nil: nothing that is known here.
    func rewind(_ asked: [String], at cursor: String?, to epochs: [RemoteEpoch]) async throws {
        try await apply { db in _ = try self.rewind(asked, at: cursor, to: epochs, in: db) }
        writes.send()
    }

    /// - Returns: Whether a table that was asked for went back, so that the answer is void.
    func rewind(_ asked: [String], at cursor: String?, to epochs: [RemoteEpoch], in db: Database) throws -> Bool {
        let guarantees = try Meta.guarantees(in: db)
        guard guarantees.hasOrderedCursors else {
            // The cursors do not tell where the two part.
            for table in asked { try Self.startResync(of: table, mayBeForgotten: true, in: db) }
            return !asked.isEmpty
        }
        let lineage = Lineage(mine: try Meta.epochs(in: db), theirs: epochs)
        let intakes = try Intake.fetchAll(layouts.map(\.name), in: db)
        let from = guarantees.state(of: cursor)
        // What a table without a state knows, as during a resync, it has from the last epoch that was noted.
        let latest = lineage.mine.last.map { SyncState(epoch: $0.name, seq: .max) } ?? from
        let counting = Set(layouts.filter { !$0.rules.counters.isEmpty }.map(\.name))
        var wentBack = false
        for intake in intakes {
            let isAsked = asked.contains(intake.table)
            guard let known = intake.state ?? latest,
                isAsked || known.epoch == from?.epoch || lineage.tells(of: known, afterAsking: from)
            else { continue }
            let common = lineage.common(with: known)
            guard let layout = layout(named: intake.table) else { continue }
            let hasDropped = try Self.heal(layout, after: common, in: db)
            try Self.rememberDeletedRows(after: common, in: db)
            guard let state = intake.state else { continue }
            // A table that was received while more was to come is not in a state of the server's: if the server has
            // lost a later change of a row, the row's version from before is not here. The same is true of parked rows.
            let isWhole = !hasDropped && intake.seen.map { common >= $0 } ?? true
            if let present = epochs.last, isWhole, common >= state.seq {
                try intake.move(to: state.moved(to: present.name), in: db)
                continue
            }
            wentBack = wentBack || isAsked
            // Rows that were deleted before the snapshot was taken, and that the server has again, are not known here.
            // A counter's value without lost counts of others is not known either.
            if let present = epochs.last, isWhole, !intake.awaitsSnapshot, let since = intake.since, since <= common,
                !counting.contains(intake.table)
            {
                // A device whose cursor is at the start there has some rows all the same.
                try intake.move(
                    to: SyncState(epoch: present.name, seq: common, begun: common == 0 ? 0 : nil), in: db)
            } else {
                // The device no longer hears whether its cursor was too old.
                try Intake.startOver(intake.table, mayBeForgotten: true, in: db)
            }
        }
        try Meta.set(lineage.theirs, in: db)
        return wentBack
    }

    /// Marks the values that the server had confirmed after a transaction as pending again: in the groups in which they
    /// were written, as far as their stamps tell. A life that the server never confirmed is sent whole anyway, and so
    /// is one that both this device and another one have begun. If this device has no copy of a life (the row is
    /// parked, for example), another device sends it.
    ///
    /// - Returns: Whether something that was parked is forgotten.
    private static func heal(_ layout: TableLayout, after common: Int64, in db: Database) throws -> Bool {
        let isHere = layout.columns.contains { !$0.isCounter } ? "(known <> 0 OR generation & 1 = 0)" : "1"
        // A row that outlives a deletion (M2) is in the life before that, if the server has had more of it than its end.
        let outlives = "acked = generation + 1 AND generation & 1 AND NOT dirty & \(TableLayout.lifeMask)"
        let heals = "((acked = generation OR \(outlives)) AND \(isHere))"
        try db.execute(
            sql: """
                UPDATE optimist_row SET seq = ?2, due = NULL, blocked = NULL,
                acked = CASE WHEN \(heals) THEN generation
                WHEN acked = generation AND dirty & ?3 = ?3 THEN 0 ELSE acked END,
                healing = \(heals),
                stamp = CASE WHEN \(heals) THEN coalesce(stamp, max(clock, 1)) ELSE stamp END,
                pending = CASE WHEN \(heals) THEN coalesce(pending, max(clock, 1)) ELSE pending END
                WHERE tbl = ?1 AND seq > ?2
                """, arguments: [layout.number, common, layout.fullMask])
        try db.execute(
            sql: "UPDATE optimist_counter SET seq = ?2 WHERE tbl = ?1 AND seq > ?2",
            arguments: [layout.number, common])
        // A parked row was never in the table, and the server no longer has it: the device that wrote it sends it
        // again.
        try db.execute(
            sql: "DELETE FROM optimist_parked WHERE tbl = ?1 AND seq > ?2", arguments: [layout.number, common])
        return db.changesCount > 0
    }

    /// The cursor to ask a remote with after it has answered a first request. That request has no cursor, so the answer
    /// does not tell about epochs. This is a cursor of the last life of its database that is known here. Nil: that life
    /// is the present one, or none is known.
    func cursorOfFormerLife(than state: String) async throws -> String? {
        let (guarantees, last) = try await read { db in
            (try Meta.guarantees(in: db), try Meta.epochs(in: db).last?.name)
        }
        guard let present = guarantees.state(of: state)?.epoch, let known = last, known != present
        else { return nil }
        return SyncState(epoch: known, seq: .max).description
    }

    /// Notes in which life of the remote's database something of this device came to be known to it. Later lives are noted
    /// when it tells of them.
    static func note(epoch: String, in db: Database) throws {
        guard try Meta.epochs(in: db).isEmpty else { return }
        try Meta.set([RemoteEpoch(name: epoch, firstSeq: 0)], in: db)
    }

    /// The verdicts of a push, as far as they can be believed: what another life of the database says than the one that is
    /// known here counts only once it is known how they hang together. A database that went back may have lost a row that is
    /// edited here, and not deleted it; and what it takes now it may lose before it is pulled. So it is sent once more then.
    func believable(_ answer: PushAnswer, of batch: PushBatch) async throws -> [Verdict] {
        guard let epoch = answer.epoch else { return answer.verdicts }
        let (intakes, latest) = try await read { db in
            (try Intake.fetchAll(self.layouts.map(\.name), in: db), try Meta.epochs(in: db).last?.name)
        }
        guard intakes.allSatisfy(\.guarantees.hasOrderedCursors) else { return answer.verdicts }
        return zip(batch.push.rows, answer.verdicts).map { row, verdict in
            let known = intakes.first { $0.table == row.table }?.state?.epoch ?? latest
            return known == nil || known == epoch ? verdict : .retry(after: Self.pauseForPull)
        }
    }

    private static let pauseForPull = Duration.seconds(1)
}

extension Intake {
    fileprivate var state: SyncState? { guarantees.state(of: latest) }

    /// Moves what is noted of a table to another life of the remote's database.
    fileprivate func move(to state: SyncState, in db: Database) throws {
        let column = awaitsSnapshot ? "snapshot" : "cursor"
        try db.execute(
            sql: "UPDATE optimist_table SET \(column) = ? WHERE name = ?", arguments: [state.description, table])
    }
}

extension Meta {
    /// The lives of the remote's database, as it last told them.
    fileprivate static func epochs(in db: Database) throws -> [RemoteEpoch] {
        guard let text = try string(.epochs, in: db) else { return [] }
        return [RemoteEpoch](json: try? JSON(parsing: text.utf8))
    }

    fileprivate static func set(_ epochs: [RemoteEpoch], in db: Database) throws {
        try set(.epochs, to: JSON.array(epochs.map(\.json)).description, in: db)
    }
}

extension SyncState {
    /// The same place in another life of the remote's database.
    func moved(to epoch: String) -> SyncState {
        var state = self
        state.epoch = epoch
        return state
    }
}
