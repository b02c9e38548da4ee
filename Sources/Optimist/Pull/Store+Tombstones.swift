// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB

extension Store {
    /// Limits a transaction, so that the app's writes get their turn.
    private static let forgottenAtOnce = 5_000

    /// Forgets rows that were deleted long ago (L5).
    ///
    /// While the server remembers a deleted row, the device must know its generation, because a row created again under
    /// the same id begins the next life. The server counts the days from when it stored the deletion, perhaps long
    /// after the device did. The device therefore records its latest server transaction and the time. After twice the
    /// server's days, it forgets the rows deleted up to that transaction, and records the next one.
    ///
    /// - Parameters:
    ///   - days: How long the server remembers deleted rows.
    ///   - seq: The device knows everything up to this transaction of the server.
    func forgetDeletedRows(
        rememberedFor days: Int, at serverTime: Date, in scope: Int64 = Scope.personal, knowing seq: Int64
    ) async throws {
        let now = Int64(serverTime.timeIntervalSince1970 * 1000)
        if let noted = try await read({ try Scope.fetch(scope, in: $0).forgetting }), noted.at <= now {
            guard noted.at + 2 * Int64(days) * 86_400_000 < now else { return }
            while try await forgetDeletedRows(upTo: noted.seq, in: scope) { try Task.checkCancellation() }
        }
        try await apply { db in
            try Scope.update(scope, in: db) { $0.forgetting = Scope.Forgetting(seq: seq, at: now) }
        }
    }

    /// - Returns: Whether there may be more.
    private func forgetDeletedRows(upTo end: Int64, in scope: Int64) async throws -> Bool {
        let condition = """
            generation & 1 = 0 AND scope = ? AND seq > 0 AND seq <= ? AND NOT EXISTS \
            (SELECT 1 FROM optimist_edit e WHERE e.tbl = optimist_remote.tbl AND e.id = optimist_remote.id)
            """
        let refs = try await read { db in
            try Row.fetchAll(
                db, sql: "SELECT tbl, id FROM optimist_remote WHERE \(condition) LIMIT \(Self.forgottenAtOnce)",
                arguments: [scope, end]
            ).map { RowRef(table: $0[0], id: $0[1]) }
        }
        if refs.isEmpty { return false }
        try await apply { db in
            let forget = try db.cachedStatement(
                sql: "DELETE FROM optimist_remote WHERE tbl = ? AND id = ? AND \(condition) RETURNING tbl, seq")
            var latest: [Int64: Int64] = [:]
            for ref in refs {
                guard let row = try Row.fetchOne(forget, arguments: [ref.table, ref.id, scope, end]) else { continue }
                latest[row[0]] = max(latest[row[0]] ?? 0, row[1])
            }
            let stored = try ProgressTable(db, of: scope)
            for layout in self.layouts {
                guard let seq = latest[layout.number], var progress = try stored.fetch(layout.name) else { continue }
                progress.forgetDeletions(upTo: seq)
                try stored.save(progress)
            }
        }
        return refs.count == Self.forgottenAtOnce
    }
}
