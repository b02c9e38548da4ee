// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

extension Store {
    /// Goes back to the last point that some tables have in common with the remote, whose database went back, and marks
    /// what is known from later as pending again (L3). Nothing is removed.
    func rewind(_ tables: [String], to epochs: [RemoteEpoch]) async throws {
        try await apply { db in _ = try self.rewind(tables, to: epochs, in: db) }
        writes.send()
    }

    /// - Returns: Whether a table went back, so that what was asked from its former place is void.
    func rewind(_ tables: [String], to epochs: [RemoteEpoch], in db: Database) throws -> Bool {
        let lineage = Lineage(mine: try Meta.epochs(in: db), theirs: epochs)
        var wentBack = false
        for intake in try Intake.fetchAll(tables, in: db) {
            guard let cursor = (intake.cursor ?? intake.at).flatMap({ SyncState($0) }) else { continue }
            let common = lineage.common(with: cursor)
            try Self.heal(intake.table, after: common, in: db)
            if let present = epochs.last, common >= cursor.seq {
                try intake.move(to: SyncState(epoch: present.name, seq: cursor.seq), in: db)
                continue
            }
            wentBack = true
            // Rows that were deleted before the snapshot was taken, and that the server has again, are not known here.
            if let present = epochs.last, !intake.awaitsSnapshot, let since = intake.since, since <= common {
                try intake.move(to: SyncState(epoch: present.name, seq: common), in: db)
            } else {
                try Intake.startOver(intake.table, in: db)
            }
        }
        try Meta.set(.epochs, to: JSON.array(epochs.map(\.json)).description, in: db)
        return wentBack
    }

    /// Marks what the server had confirmed after a transaction as pending again: in the groups in which it was written, as
    /// far as its stamps tell. What is pending in a life that the server never confirmed is sent whole anyway.
    private static func heal(_ table: String, after common: Int64, in db: Database) throws {
        try db.execute(
            sql: """
                UPDATE optimist_row SET seq = ?2, due = NULL, blocked = NULL,
                healing = acked = generation,
                stamp = CASE WHEN acked = generation THEN coalesce(stamp, max(clock, 1)) ELSE stamp END,
                pending = CASE WHEN acked = generation THEN coalesce(pending, max(clock, 1)) ELSE pending END
                WHERE tbl = (SELECT number FROM optimist_table WHERE name = ?1) AND seq > ?2
                """, arguments: [table, common])
        try db.execute(
            sql: """
                UPDATE optimist_counter SET seq = ?2
                WHERE tbl = (SELECT number FROM optimist_table WHERE name = ?1) AND seq > ?2
                """, arguments: [table, common])
    }

    /// The verdicts of a push, as far as they can be believed: a database that went back may have lost a row that is
    /// edited here, and not deleted it. That is known as soon as the table has been pulled.
    func believable(_ answer: PushAnswer, of batch: PushBatch) async throws -> [Verdict] {
        guard let epoch = answer.epoch, answer.verdicts.contains(.gone) else { return answer.verdicts }
        let intakes = try await intakes()
        return zip(batch.push.rows, answer.verdicts).map { row, verdict in
            let intake = intakes.first { $0.table == row.table }
            let known = (intake?.cursor ?? intake?.at).flatMap { SyncState($0)?.epoch }
            return verdict == .gone && known != nil && known != epoch ? .retry(after: nil) : verdict
        }
    }
}

extension Intake {
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
}
