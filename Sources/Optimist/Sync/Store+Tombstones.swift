// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire

extension Store {
    /// How many rows are forgotten in one transaction, so that the app's writes get their turn.
    private static let forgottenAtOnce = 5_000

    /// Forgets which rows were deleted long ago (L5).
    ///
    /// While the server remembers a deleted row, a device has to know its generation too: a row that the app makes again
    /// under the same id begins the life after that. A deletion may have waited here as long as the server remembers it,
    /// so it is forgotten at twice that age.
    ///
    /// - Parameters:
    ///   - days: How long the server remembers deleted rows.
    ///   - serverTime: Its time of day.
    func forgetDeletedRows(rememberedFor days: Int, at serverTime: Date) async throws {
        let now = Int64(serverTime.timeIntervalSince1970 * 1000)
        let end = Stamp(milliseconds: max(now - 2 * Int64(days) * 86_400_000, 0))
        while try await forgetDeletedRows(before: end) { try Task.checkCancellation() }
    }

    /// Returns whether there may be more.
    private func forgetDeletedRows(before end: Stamp) async throws -> Bool {
        let condition = "generation & 1 = 0 AND clock > 0 AND clock < ? AND pending IS NULL AND acked >= generation"
        let keys = try await read { db in
            try Int64.fetchAll(
                db, sql: "SELECT key FROM optimist_row WHERE \(condition) LIMIT \(Self.forgottenAtOnce)",
                arguments: [end.rawValue])
        }
        if keys.isEmpty { return false }
        try await apply { db in
            let forget = try db.cachedStatement(
                sql: "DELETE FROM optimist_row WHERE key = ? AND \(condition) RETURNING tbl, seq")
            var latest: [Int64: Int64] = [:]
            for key in keys {
                guard let row = try Row.fetchOne(forget, arguments: [key, end.rawValue]) else { continue }
                latest[row[0]] = max(latest[row[0]] ?? 0, row[1])
            }
            // A server that goes back to before that has rows again that nobody here remembers to have been deleted.
            for (table, seq) in latest {
                try db.execute(
                    sql: "UPDATE optimist_table SET since = max(since, ?) WHERE number = ?", arguments: [seq, table])
            }
        }
        return keys.count == Self.forgottenAtOnce
    }
}
