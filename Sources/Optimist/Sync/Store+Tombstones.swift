// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB

extension Store {
    /// How many rows are forgotten in one transaction, so that the app's writes get their turn.
    private static let forgottenAtOnce = 5_000

    /// Forgets which rows were deleted long ago (L5).
    ///
    /// While the server remembers a deleted row, a device has to know its generation too: a row that the app makes again
    /// under the same id begins the life after that. The server counts from when it stored the deletion, which may have
    /// waited on a device for any time. So a transaction of its is noted, with the time: what was deleted by then is
    /// forgotten once twice as much time has passed as the server remembers it, and the next one is noted.
    ///
    /// - Parameters:
    ///   - days: How long the server remembers deleted rows.
    ///   - serverTime: Its time of day.
    ///   - seq: The latest of its transactions up to which everything is known here.
    func forgetDeletedRows(rememberedFor days: Int, at serverTime: Date, knowing seq: Int64) async throws {
        let now = Int64(serverTime.timeIntervalSince1970 * 1000)
        let noted = try await read { db in
            (seq: try Meta.int(.deletedSeq, in: db), at: try Meta.int(.deletedSeqAt, in: db))
        }
        if let end = noted.seq, let at = noted.at, at <= now {
            guard at + 2 * Int64(days) * 86_400_000 < now else { return }
            while try await forgetDeletedRows(upTo: end) { try Task.checkCancellation() }
        }
        try await apply { db in
            try Meta.set(.deletedSeq, to: seq, in: db)
            try Meta.set(.deletedSeqAt, to: now, in: db)
        }
    }

    /// The remote's database went back to a transaction: what it numbers from there on is new.
    static func rememberDeletedRows(after seq: Int64, in db: Database) throws {
        guard let noted = try Meta.int(.deletedSeq, in: db), noted > seq else { return }
        try Meta.set(.deletedSeq, to: seq, in: db)
    }

    /// Returns whether there may be more.
    private func forgetDeletedRows(upTo end: Int64) async throws -> Bool {
        let condition = "generation & 1 = 0 AND seq > 0 AND seq <= ? AND pending IS NULL AND acked >= generation"
        let keys = try await read { db in
            try Int64.fetchAll(
                db, sql: "SELECT key FROM optimist_row WHERE \(condition) LIMIT \(Self.forgottenAtOnce)",
                arguments: [end])
        }
        if keys.isEmpty { return false }
        try await apply { db in
            let forget = try db.cachedStatement(
                sql: "DELETE FROM optimist_row WHERE key = ? AND \(condition) RETURNING tbl, seq")
            var latest: [Int64: Int64] = [:]
            for key in keys {
                guard let row = try Row.fetchOne(forget, arguments: [key, end]) else { continue }
                latest[row[0]] = max(latest[row[0]] ?? 0, row[1])
            }
            // A server that goes back to before that has rows again whose deletion no device remembers.
            for (table, seq) in latest {
                try db.execute(
                    sql: "UPDATE optimist_table SET since = max(since, ?) WHERE number = ?", arguments: [seq, table])
            }
        }
        return keys.count == Self.forgottenAtOnce
    }
}
