// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB
import OptimistCore
package import OptimistWire

/// Writes an account as lines of JSON: the account, its sessions, its rows, and a last line with their counts. If the
/// last line is missing, the export was cut short. The export includes tombstones, but no password hashes or token
/// secrets.
package struct AccountExport {
    private let write: (JSON) throws -> Void
    private var rows: Int64 = 0
    private var sessions: Int64 = 0

    package init(to write: @escaping (JSON) throws -> Void) { self.write = write }

    package func account(id: String, email: String, createdAt: String, seq: Int64, at now: Date) throws {
        try write([
            "account": [
                "id": .string(id), "email": .string(email), "createdAt": .string(createdAt), "seq": .int(seq),
                "exportedAt": .string(now.utcText),
            ]
        ])
    }

    package mutating func session(_ record: SessionRecord) throws {
        sessions += 1
        try write([
            "session": [
                "id": .string(record.id), "deviceId": .string(record.deviceID), "device": .string(record.deviceName),
                "signedInAt": record.begunAt.map { .string(Self.text($0)) } ?? .null,
                "lastUsedAt": .string(Self.text(record.refreshedAt)),
                "ended": (record.ended?.rawValue).map(JSON.string) ?? .null,
            ]
        ])
    }

    /// - Parameter row: Content that is not JSON becomes null; `optimist check` finds such rows.
    package mutating func row(_ row: EmbeddedExport.StoredBytes) throws {
        rows += 1
        try write([
            "row": [
                "type": .string(row.type), "id": .string(row.id), "isDeleted": .bool(row.generation % 2 == 0),
                "generation": .int(Int64(row.generation)), "seq": .int(row.seq), "bornSeq": .int(row.bornSeq),
                "content": (try? JSON(parsing: row.content)) ?? .null,
                "memory": row.hidden.flatMap { try? JSON(parsing: $0) } ?? .null,
            ]
        ])
    }

    package func end() throws { try write(["end": ["sessions": .int(sessions), "rows": .int(rows)]]) }

    private static func text(_ seconds: Double) -> String { Date(timeIntervalSince1970: seconds).utcText }
}

extension AccountExport {
    /// Exports an account as of one moment, even while a server runs on the directory. Blocks the thread.
    ///
    /// - Parameters:
    ///   - email: The account's address.
    ///   - directory: The data directory.
    ///   - write: Receives each line.
    /// - Throws: The error of `write`. `OptimistError` with code `account.notFound`, or with `unreadableData` if there
    ///   is no data or another version of the server wrote it.
    package static func read(
        _ email: String, in directory: URL, at now: Date = Date(), _ write: @escaping (JSON) throws -> Void
    ) throws {
        guard let address = EmailAddress(email) else { throw OptimistError.noAccount }
        try ServerDatabase.openForReading(directory).read { db in
            let found = try Row.fetchOne(
                db, sql: "SELECT account_id, email, created_at, seq FROM optimist_accounts WHERE email = ?",
                arguments: [address.text])
            guard let found else { throw OptimistError.noAccount }
            let id: String = found[0]
            var export = AccountExport(to: write)
            try export.account(id: id, email: found[1], createdAt: found[2], seq: found[3], at: now)
            let sessions = try Row.fetchCursor(
                db,
                sql: """
                    SELECT \(SQLiteAccountStore.sessionColumns) FROM optimist_sessions
                    WHERE account_id = ? ORDER BY session_id
                    """, arguments: [id])
            while let session = try sessions.next() { try export.session(SessionRecord(session)) }
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT \(EmbeddedExport.rowColumns) FROM optimist_rows WHERE account_id = ? ORDER BY type, id
                    """, arguments: [id])
            while let row = try rows.next() { try export.row(EmbeddedExport.StoredBytes(row)) }
            try export.end()
        }
    }
}
