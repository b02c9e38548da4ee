// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import OptimistCore
import OptimistServer
@_spi(Internals) import OptimistServing

/// Copies the data of an embedded server into an empty database, account by account.
///
/// Each account is copied in one transaction, which compares its rows with the source before the commit. An interrupted
/// copy can be run again, and continues with the missing accounts. No server starts on the database until the copy has
/// finished. Devices do not notice: accounts, sessions, seqs and epochs stay the same.
package struct EmbeddedCopy: Sendable {
    private let source: EmbeddedExport
    private let opening: PostgresOpening

    package struct Progress: Sendable {
        /// Includes accounts of an earlier run.
        package var accounts = 0
        /// The rows copied by this run, including deleted ones.
        package var rows = 0
        /// The accounts copied by an earlier run.
        package var found = 0
    }

    /// - Parameter directory: The data directory of a stopped server. No server can start on it until ``run(_:)`` has
    ///   finished.
    /// - Throws: `OptimistError` with code `dataInUse` while a server runs on the directory, or `unreadableData` or
    ///   `newerData` if the directory cannot be read.
    package init(from directory: URL, to opening: PostgresOpening) throws {
        source = try EmbeddedExport(directory: directory)
        self.opening = opening
    }

    /// The name of a setting that exists while a copy is unfinished. Its value is the source's last epoch.
    static let setting = "copy"

    /// Refuses a database with an unfinished copy.
    ///
    /// - Throws: `OptimistError` with code `dataInUse`, or ``PostgresError``.
    static func refuseUnfinished(_ connection: PostgresConnection) throws {
        guard try connection.query(SharedStatement.setting, [.text(setting)]).count == 1 else { return }
        throw OptimistError(
            .dataInUse, "A copy into this database has not finished. Run `optimist copy` again to continue it.")
    }

    /// Copies all accounts, and the data that does not belong to an account. Cancelling the task does not interrupt it.
    ///
    /// - Parameter progress: Called after each account, on a thread of a global queue.
    /// - Throws: `OptimistError` with code `dataInUse` if the database holds other data, or if a server ran on the
    ///   source since the copy began; `unreadableData` if a row differs after the copy; or a code for trouble with the
    ///   database.
    package func run(_ progress: @escaping @Sendable (Progress) -> Void) async throws -> Progress {
        let (source, opening) = (source, opening)
        defer { source.close() }
        return try await opening.explaining {
            let connection = try opening.migrated()
            let common = try source.common()
            try Self.begin(common, source, connection)
            var done = Progress()
            let version = common.schemas.map(\.version).max() ?? 0
            for id in try source.accounts() {
                if try connection.query(CopyStatement.account, [.text(id)]).count == 1 {
                    done.found += 1
                } else {
                    done.rows += try Self.copy(id, from: source, version, connection)
                }
                done.accounts += 1
                progress(done)
            }
            _ = try connection.query(CopyStatement.dropSetting, [.text(Self.setting)])
            return done
        }
    }

    /// Copies the data that does not belong to an account, if no earlier run has.
    private static func begin(
        _ common: EmbeddedExport.Common, _ source: EmbeddedExport, _ connection: PostgresConnection
    ) throws {
        try connection.transaction { connection in
            _ = try connection.query(SharedStatement.lockSetup)
            let begun = try connection.query(SharedStatement.setting, [.text(setting)])
            let mark = common.epochs.last ?? ""
            if begun.count == 1, begun.text(0, 0) == mark { return }
            let isEmpty = try connection.query(SharedStatement.accountIDs, [.text(""), .int(1)]).count == 0
            guard isEmpty, begun.count == 0, try connection.query(SharedStatement.epochs).count == 0 else {
                throw OptimistError(
                    .dataInUse,
                    """
                    The database already contains other data. Name an empty one, or another schema with \
                    ?options=-csearch_path%3DNAME. Nothing was copied.
                    """)
            }
            try connection.enqueue(SharedStatement.keepSetting, [.text(setting), .text(mark)])
            try connection.enqueue(SharedStatement.keepSetting, [.text("secret"), .text(source.keys.fingerprint)])
            if let time = common.highestTime {
                try connection.enqueue(SharedStatement.keepSetting, [.text("time"), .text("\(time)")])
            }
            for epoch in common.epochs { try connection.enqueue(SharedStatement.addEpoch, [.text(epoch), .null]) }
            for schema in common.schemas {
                try connection.enqueue(
                    SharedStatement.addSchema, [.text(schema.id), .int(schema.version), .text(schema.content)])
            }
            for invitation in common.invitations {
                try connection.enqueue(
                    SharedStatement.addInvitation, [.bytes(Array(invitation.hash)), .double(invitation.endsAt)])
            }
            for token in common.spentTokens {
                try connection.enqueue(IdentityStatement.spend, [.bytes(Array(token.hash)), .double(token.endsAt)])
            }
            for setting in common.settings {
                try connection.enqueue(SharedStatement.keepSetting, [.text(setting.name), .text(setting.value)])
            }
            for deleted in common.deleted {
                try connection.enqueue(SharedStatement.addDeleted, deleted.values)
            }
            for remains in common.remains { try add(remains.members, remains.events, to: remains.account, connection) }
            try copyHealth(source, connection)
        }
    }

    /// Copies one account in one transaction. Returns the number of its rows, including deleted ones.
    private static func copy(
        _ id: String, from source: EmbeddedExport, _ version: Int, _ connection: PostgresConnection
    ) throws -> Int {
        let account = try source.account(id)
        return try connection.transaction { connection in
            try add(account, version, connection)
            var count = 0
            try forEachPage({ try source.rows(of: id, after: $0, limit: pageRows) }) { page in
                for row in page { try connection.enqueue(RowStatement.upsert1, row.values(of: id)) }
                count += page.count
            }
            for (key, entry) in try source.index(of: id) {
                try connection.enqueue(
                    RowStatement.addIndex1,
                    [.text(id), .text(key.type), .text(entry.index), .text(entry.key.text.shortKey), .text(key.id)])
            }
            try compare(id, source, connection)
            return count
        }
    }

    private static let pageRows = 1_000

    static func forEachPage(
        _ next: (EmbeddedExport.StoredBytes?) throws -> [EmbeddedExport.StoredBytes],
        _ body: ([EmbeddedExport.StoredBytes]) throws -> Void
    ) throws {
        var last: EmbeddedExport.StoredBytes?
        while true {
            let page = try next(last)
            if page.isEmpty { return }
            try body(page)
            last = page.last
        }
    }

    private static func add(
        _ account: EmbeddedExport.Account, _ version: Int, _ connection: PostgresConnection
    ) throws {
        let id = account.id
        let address = account.email.map(PostgresAccountStore.address) ?? PostgresAccountStore.spaceAddress(of: id)
        try connection.enqueue(SharedStatement.addAddress, [.text(address), .text(id)])
        try connection.enqueue(
            CopyStatement.addAccount,
            [
                .text(id), .text(account.kind), .text(account.email), .text(account.password),
                .text(account.createdAt), .int(account.seq), .text(account.epoch), .int(account.floor),
                .int(account.day), .int(version), .int(account.reported), .int(account.rowCount),
            ])
        for epoch in account.epochs {
            try connection.enqueue(RowStatement.beginEpoch, [.text(id), .text(epoch.name), .int(epoch.firstSeq)])
        }
        for day in account.days {
            try connection.enqueue(RowStatement.addDay, [.text(id), .int(day.day), .int(day.firstSeq)])
        }
        for push in account.pushes {
            try connection.enqueue(
                CopyStatement.addPush,
                [.text(id), .text(push.person), .text(push.device), .int(push.number), .int(push.day)])
        }
        try add(account.members, account.events, to: id, connection)
        for session in account.sessions { try connection.enqueue(AccountStatement.save, session.values) }
        for reset in account.resets {
            try connection.enqueue(
                AccountStatement.addReset, [.text(id), .bytes(Array(reset.hash)), .double(reset.endsAt)])
        }
        for linked in account.identities {
            try connection.enqueue(IdentityStatement.add, linked.values(of: id))
        }
    }

    private static func add(
        _ members: [Membership], _ events: [AuditedEvent], to account: String, _ connection: PostgresConnection
    ) throws {
        for member in members {
            try connection.enqueue(
                CopyStatement.addMember,
                [
                    .text(account), .text(member.person), .text(member.memberID), .text(member.role.rawValue),
                    .int(member.joinedSeq), .int(member.end.map { Int($0.seq) }), .text(member.end?.reason.rawValue),
                ])
        }
        for event in events { try connection.enqueue(RowStatement.addEvent, event.values(of: account)) }
    }

    /// Reads an account's rows again on both sides, and compares them. Does not compare sessions and index entries.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` if they differ.
    private static func compare(_ id: String, _ source: EmbeddedExport, _ connection: PostgresConnection) throws {
        var last: EmbeddedExport.StoredBytes?
        while true {
            let (here, there) = (
                try source.rows(of: id, after: last, limit: pageRows), try rows(of: id, after: last, connection)
            )
            guard here == there else {
                throw OptimistError(
                    .unreadableData,
                    "The rows of account \(id) differ after the copy, which was undone. Run the copy again.")
            }
            guard let end = here.last else { return }
            last = end
        }
    }

    static func rows(
        of id: String, after last: EmbeddedExport.StoredBytes?, _ connection: PostgresConnection
    ) throws -> [EmbeddedExport.StoredBytes] {
        let rows = try connection.query(
            CopyStatement.rows, [.text(id), .text(last?.type ?? ""), .text(last?.id ?? ""), .int(pageRows)])
        return (0..<rows.count).map { EmbeddedExport.StoredBytes(rows, $0) }
    }
}

extension EmbeddedExport.StoredBytes {
    fileprivate init(_ rows: PostgresRows, _ row: Int) {
        self.init(
            type: rows.text(row, 0), id: rows.text(row, 1), generation: rows.int(row, 2), seq: rows.int64(row, 3),
            ordinal: rows.int(row, 4), bornSeq: rows.int64(row, 5), content: rows.bytes(row, 6),
            hidden: rows.bytesIfAny(row, 7))
    }

    fileprivate func values(of account: String) -> [PostgresValue] {
        [
            .text(account), .int(seq), .text(type), .text(id), .int(generation), .int(ordinal), .int(bornSeq),
            .utf8(content),
            hidden.map { .utf8($0) } ?? .null,
        ]
    }
}
