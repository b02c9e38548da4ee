// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

extension Store {
    /// Limits a transaction, so that the app's writes get their turn.
    private static let rowsAtOnce = 1_000

    func massRemoval(in scope: Int64 = Scope.personal) async throws -> MassRemoval {
        try await read { db in
            var removal = MassRemoval(rows: [:], total: [:])
            let stored = try ProgressTable(db, of: scope)
            for layout in self.layouts where try stored.fetch(layout.name)?.awaitsSettling == true {
                let going = try Int.fetchOne(
                    db,
                    sql: """
                        SELECT count(*) FROM optimist_unseen u JOIN optimist_remote r ON r.tbl = u.tbl AND r.id = u.id
                        WHERE u.scope = ? AND u.tbl = ?
                        AND NOT EXISTS (SELECT 1 FROM optimist_edit e WHERE e.tbl = u.tbl AND e.id = u.id)
                        """, arguments: [scope, layout.number])
                guard let going, going > 0 else { continue }
                removal.rows[layout.name] = going
                removal.total[layout.name] = try Int.fetchOne(
                    db,
                    sql: """
                        SELECT (SELECT count(*) FROM optimist_edit e LEFT JOIN optimist_remote r ON r.tbl = e.tbl AND r.id = e.id
                        WHERE e.tbl = ?1 AND e.generation & 1 AND coalesce(r.scope, 0) = ?2)
                        + (SELECT count(*) FROM optimist_remote r WHERE tbl = ?1 AND scope = ?2 AND generation & 1
                        AND NOT EXISTS (SELECT 1 FROM optimist_edit e WHERE e.tbl = r.tbl AND e.id = r.id))
                        """, arguments: [layout.number, scope])
            }
            return removal
        }
    }

    /// Settles the rows that were missing from a resync, children before parents (L4).
    ///
    /// - Parameter served: The tables that the remote keeps. Nil: all.
    func settleUnseen(
        _ answer: MassRemoval.Decision, in scope: Int64 = Scope.personal, served: Set<String>? = nil
    ) async throws {
        for layout in SnapshotOrder.sorted(layouts).reversed() {
            while try await settleUnseen(of: layout, answer, in: scope, served) { try Task.checkCancellation() }
        }
        writes.send()
    }

    /// - Returns: Whether there may be more.
    private func settleUnseen(
        of layout: TableLayout, _ answer: MassRemoval.Decision, in scope: Int64, _ served: Set<String>?
    ) async throws -> Bool {
        let now = milliseconds
        return try await apply { db in
            let stored = try ProgressTable(db, of: scope)
            guard var progress = try stored.fetch(layout.name), progress.awaitsSettling else { return false }
            let ids = try Row.fetchAll(
                db, sql: "SELECT id FROM optimist_unseen WHERE scope = ? AND tbl = ? ORDER BY id LIMIT ?",
                arguments: [scope, layout.number, Self.rowsAtOnce]
            ).map { $0[0] as DatabaseValue }
            let start = progress.guarantees.state(of: progress.at)?.seq
            try UnseenSettling(
                self.layouts, stored, db, start: start ?? .max, isResync: progress.isResync, served: served, at: now
            ).settle(ids, of: layout, answer)
            for id in ids {
                try db.cachedStatement(sql: "DELETE FROM optimist_unseen WHERE scope = ? AND tbl = ? AND id = ?")
                    .execute(arguments: [scope, layout.number, id])
            }
            if ids.count == Self.rowsAtOnce { return true }
            progress.settledMissingRows()
            try stored.save(progress)
            return false
        }
    }
}
