// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB
import OptimistCore
@_spi(Internals) package import OptimistServing

/// Reads all data of a stopped server, so that it can be copied elsewhere.
///
/// Opening does not begin an epoch or change accounts, rows or sessions. Like a server's start, it migrates a file of
/// an earlier version and creates a missing `keys.json`. Servers cannot start on the directory until ``close()`` is
/// called or this object is released.
package final class EmbeddedExport: Sendable {
    let database: ServerDatabase
    private let lock: DirectoryLock
    package let keys: ServerKeys

    /// - Throws: `OptimistError` with code `dataInUse` while a server runs on the directory, `unreadableData` if there
    ///   is no data or it cannot be read, or `newerData` if a later version wrote it.
    package init(directory: URL) throws {
        let file = try ServerDatabase.existingFile(in: directory)
        lock = try DirectoryLock(directory: directory)
        database = try ServerDatabase(path: file.path, epoch: nil)
        keys = try ServerKeys(directory: directory)
        guard try database.pool.read(RowIndex.isPresent) else {
            throw OptimistError(
                .unreadableData,
                "\(directory.path) was last served by an earlier version. Start and stop a server of this version on it first."
            )
        }
    }

    /// Lets a server start on the directory. Do not read after this.
    package func close() { lock.release() }

    /// The data outside of accounts. Epochs are ordered from the oldest, and times are seconds since 1970.
    package struct Common: Sendable {
        package var epochs: [String]
        package var schemas: [(id: String, version: Int, content: String)]
        package var invitations: [(hash: Data, endsAt: Double)]
        package var spentTokens: [SpentToken]
        /// The service keys and their last uses, as settings.
        package var settings: [(name: String, value: String)]
        package var deleted: [DeletionReceipt]
        /// The former members and the audits of deleted spaces.
        package var remains: [Remains]
        /// The highest time that a server has seen.
        package var highestTime: Double?
    }

    /// The former members and the audit of a deleted space.
    package struct Remains: Sendable {
        package var account: String
        package var members: [Membership]
        package var events: [AuditedEvent]
    }

    package func common() throws -> Common {
        try database.pool.read { db in
            let deleted = try Row.fetchAll(
                db,
                sql: """
                    SELECT account_id, deleted_at, row_count, session_count, space_count, is_erased
                    FROM optimist_deleted_accounts
                    """
            ).map(DeletionReceipt.init)
            return Common(
                epochs: database.epochs,
                schemas: try Row.fetchAll(db, sql: "SELECT id, version, content FROM optimist_schemas").map {
                    ($0[0], $0[1], $0[2])
                },
                invitations: try Row.fetchAll(db, sql: "SELECT hash, ends_at FROM optimist_invitations").map {
                    ($0[0], $0[1])
                },
                spentTokens: try Row.fetchAll(db, sql: "SELECT hash, ends_at FROM optimist_spent_tokens").map {
                    SpentToken(hash: $0[0], endsAt: $0[1])
                },
                settings: try Row.fetchAll(
                    db,
                    sql: "SELECT name, value FROM optimist_settings WHERE name GLOB 'key*.*' OR name GLOB 'webhook*.*'"
                ).map { ($0[0], $0[1]) },
                deleted: deleted,
                remains: try deleted.map { receipt in
                    Remains(
                        account: receipt.account, members: try Self.members(of: receipt.account, db),
                        events: try Self.events(of: receipt.account, db))
                },
                highestTime: try KeptTime.highest(db))
        }
    }

    package func accounts() throws -> [String] {
        try database.pool.read { try String.fetchAll($0, sql: "SELECT account_id FROM optimist_accounts ORDER BY 1") }
    }

    package struct Account: Sendable {
        package var id: String
        package var kind: String
        package var email: String?
        package var password: String
        package var createdAt: String
        package var seq: Int64
        package var epoch: String?
        package var floor: Int64
        package var day: Int?
        package var reported: Int64
        package var rowCount: Int
        package var epochs: [(name: String, firstSeq: Int64)]
        package var days: [(day: Int, firstSeq: Int64)]
        package var pushes: [(person: String, device: String, number: Int64, day: Int)]
        package var members: [Membership]
        package var events: [AuditedEvent]
        package var sessions: [SessionRecord]
        package var resets: [(hash: Data, endsAt: Double)]
        package var identities: [LinkedIdentity]
    }

    /// - Throws: `StoreError.noAccount`, or an error of the database.
    package func account(_ id: String) throws -> Account {
        try database.pool.read { db in
            func rows(_ columns: String, _ table: String) throws -> [Row] {
                try Row.fetchAll(db, sql: "SELECT \(columns) FROM \(table) WHERE account_id = ?", arguments: [id])
            }
            let columns = "kind, email, password, created_at, seq, epoch, floor, day, reported, row_count"
            guard let row = try rows(columns, "optimist_accounts").first else { throw StoreError.noAccount }
            return Account(
                id: id, kind: row[0], email: row[1], password: row[2], createdAt: row[3], seq: row[4], epoch: row[5],
                floor: row[6], day: row[7], reported: row[8], rowCount: row[9],
                epochs: try rows("epoch, first_seq", "optimist_account_epochs").map { ($0[0], $0[1]) },
                days: try rows("day, first_seq", "optimist_account_days").map { ($0[0], $0[1]) },
                pushes: try rows("person_id, device, number, day", "optimist_pushes").map {
                    ($0[0], $0[1], $0[2], $0[3])
                },
                members: try Self.members(of: id, db), events: try Self.events(of: id, db),
                sessions: try rows(SQLiteAccountStore.sessionColumns, "optimist_sessions").map(SessionRecord.init),
                resets: try rows("hash, ends_at", "optimist_resets").map { ($0[0], $0[1]) },
                identities: try SQLiteAccountStore.identities(of: id, db))
        }
    }

    private static func members(of account: String, _ db: Database) throws -> [Membership] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT person_id, member_id, role, joined_seq, ended_seq, reason FROM optimist_members
                WHERE account_id = ?
                """, arguments: [account]
        ).map {
            Membership(
                person: $0[0], memberID: $0[1], role: $0[2], joinedSeq: $0[3], endedSeq: $0[4], reason: $0[5])
        }
    }

    private static func events(of account: String, _ db: Database) throws -> [AuditedEvent] {
        try Row.fetchAll(
            db, sql: "SELECT \(AuditedEvent.columns) FROM optimist_audit WHERE account_id = ?", arguments: [account]
        ).map(AuditedEvent.init)
    }

    package struct StoredBytes: Hashable, Sendable {
        package var type: String
        package var id: String
        package var generation: Int
        package var seq: Int64
        package var ordinal: Int
        package var bornSeq: Int64
        package var content: [UInt8]
        package var hidden: [UInt8]?

        package init(
            type: String, id: String, generation: Int, seq: Int64, ordinal: Int, bornSeq: Int64, content: [UInt8],
            hidden: [UInt8]?
        ) {
            self.type = type
            self.id = id
            self.generation = generation
            self.seq = seq
            self.ordinal = ordinal
            self.bornSeq = bornSeq
            self.content = content
            self.hidden = hidden
        }
    }

    /// Ordered by type and id. Nil starts with the first row.
    package func rows(of account: String, after last: StoredBytes?, limit: Int) throws -> [StoredBytes] {
        try database.pool.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT \(Self.rowColumns) FROM optimist_rows
                    WHERE account_id = ? AND (type, id) > (?, ?) ORDER BY type, id LIMIT ?
                    """, arguments: [account, last?.type ?? "", last?.id ?? "", limit]
            ).map(StoredBytes.init)
        }
    }

    /// In the order that ``StoredBytes`` reads.
    static let rowColumns = "type, id, generation, seq, ordinal, born_seq, content, hidden"

    package func index(of account: String) throws -> [(key: RowKey, entry: IndexEntry)] {
        try database.pool.read { db in
            try Row.fetchAll(
                db, sql: "SELECT type, name, key, id FROM optimist_index WHERE account_id = ?", arguments: [account]
            ).map { (RowKey($0[0], $0[3]), IndexEntry(index: $0[1], key: IndexKey($0[2]))) }
        }
    }
}

extension EmbeddedExport.StoredBytes {
    init(_ row: Row) throws {
        self.init(
            type: row[0], id: row[1], generation: row[2], seq: row[3], ordinal: row[4], bornSeq: row[5],
            content: try row.bytes(at: 6), hidden: try row.bytesIfAny(at: 7))
    }
}
