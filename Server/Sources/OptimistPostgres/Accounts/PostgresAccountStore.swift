// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistServer
@_spi(Internals) import OptimistServing

/// The accounts and sessions in a PostgreSQL database. Every decision about an account is made under its lock, which is
/// the lock of its row.
struct PostgresAccountStore: AccountStore {
    let pool: PostgresPool

    func account(email: String) async throws -> StoredAccount? {
        try await pool.run { connection in
            let found = try connection.query(SharedStatement.addressOf, [.text(Self.address(email))])
            return found.count == 0 ? nil : try Self.account(found.text(0, 0), connection)
        }
    }

    func account(id: String) async throws -> StoredAccount? {
        try await pool.run { try Self.account(id, $0) }
    }

    func accounts() async throws -> [StoredAccount] {
        try await pool.run { connection in
            let ids = try connection.query(SharedStatement.accounts)
            return try (0..<ids.count).compactMap { try Self.account(ids.text($0, 0), connection) }
        }
    }

    func accounts(startingWith prefix: String, after email: String?, limit: Int) async throws -> [StoredAccount] {
        let start = prefix.lowercasedInASCII
        let values: [PostgresValue] = [
            .text(start), .text(start.endOfPrefix), .text(email.map(Self.address) ?? ""), .int(limit),
        ]
        return try await pool.run { connection in
            let ids = try connection.query(SharedStatement.accountsFrom, values)
            return try (0..<ids.count).compactMap { try Self.account(ids.text($0, 0), connection) }
        }
    }

    /// The key for looking up an email address: its ASCII letters are lower-case.
    static func address(_ email: String) -> String { email.lowercasedInASCII.shortKey }

    /// The key of a space among the addresses, which list all accounts. It sorts after the addresses of persons, so
    /// that no search for an address finds it.
    static func spaceAddress(of account: String) -> String { "".endOfPrefix + account }

    private static func account(_ id: String, _ connection: PostgresConnection) throws -> StoredAccount? {
        StoredAccount(try connection.query(AccountStatement.byID, [.text(id)]))
    }

    func add(
        _ account: StoredAccount, _ session: SessionRecord, by use: IdentityUse?,
        spending invitation: OneTimeToken?, at date: Date
    ) async throws {
        let time = date.timeIntervalSince1970
        try await transaction(of: account.id) { connection in
            if let invitation {
                let spent = try connection.query(
                    SharedStatement.spendInvitation, [.bytes(Array(invitation.hash)), .double(time)])
                guard spent.changedCount == 1 else { throw AuthRefusal.invalidInvitation }
            }
            try Self.add(account, at: date, connection)
            if let use, try !Self.accept(use, for: account.id, connection) { throw IdentityTaken() }
            try Self.save(session, connection)
        }
    }

    func add(_ account: StoredAccount, at date: Date) async throws {
        try await transaction(of: account.id) { try Self.add(account, at: date, $0) }
    }

    private static func add(_ account: StoredAccount, at date: Date, _ connection: PostgresConnection) throws {
        let added = try connection.query(
            SharedStatement.addAddress, [.text(address(account.email)), .text(account.id)])
        guard added.changedCount == 1 else { throw AuthRefusal.emailTaken }
        try connection.enqueue(
            AccountStatement.add,
            [.text(account.id), .text(account.email), .text(account.password), .text(date.utcText)])
    }

    private func transaction<Value: Sendable>(
        of account: String, _ work: @escaping @Sendable (PostgresConnection) throws -> Value
    ) async throws -> Value {
        try await pool.run(of: account) { try $0.transaction { try work($0) } }
    }

    /// Runs `work` in a transaction that holds the account's lock.
    ///
    /// - Returns: Nil if the account does not exist, if its password has changed since `account` was read, or if `work`
    ///   returns nil.
    func locking<Value: Sendable>(
        _ id: String, if account: StoredAccount? = nil,
        _ work: @escaping @Sendable (StoredAccount, PostgresConnection) throws -> Value?
    ) async throws -> Value? {
        try await transaction(of: id) { connection in
            guard let present = StoredAccount(try connection.query(AccountStatement.lock, [.text(id)])),
                account == nil || account?.password == present.password
            else { return nil }
            return try work(present, connection)
        }
    }

    // MARK: - Sessions

    func begin(
        _ session: SessionRecord, of account: StoredAccount, by use: IdentityUse?, isOnlyOne: Bool
    ) async throws -> [String]? {
        try await locking(account.id, if: account) { _, connection in
            if let use, try !Self.accept(use, for: account.id, connection) { return nil }
            let ended = try connection.query(
                AccountStatement.endReplaced,
                [
                    .text(account.id), .text(SessionEnd.signedInElsewhere.rawValue), .bool(isOnlyOne),
                    .text(session.deviceID),
                ])
            try Self.save(session, connection)
            return ended.texts
        }
    }

    func session(account: String, id: String) async throws -> SessionRecord? {
        try await pool.run { try Self.session(account, id, $0) }
    }

    func change<Value: Sendable>(
        account: String, session id: String, _ change: @escaping @Sendable (inout SessionRecord) throws -> Value
    ) async throws -> (record: SessionRecord, value: Value)? {
        try await locking(account) { _, connection in
            guard var record = try Self.session(account, id, connection) else { return nil }
            let former = record
            let value = try change(&record)
            if record != former { try Self.save(record, connection) }
            return (record, value)
        }
    }

    func sessions(of account: String, refreshedSince time: Double) async throws -> [SessionRecord] {
        try await pool.run { connection in
            let rows = try connection.query(AccountStatement.sessions, [.text(account), .double(time)])
            return (0..<rows.count).map { SessionRecord(rows, $0) }
        }
    }

    func sessionCounts(refreshedSince time: Double) async throws -> [String: Int] {
        try await pool.run { connection in
            let ids = try connection.query(SharedStatement.accounts).texts
            return Dictionary(
                uniqueKeysWithValues: try ids.map { id in
                    let count = try connection.query(AccountStatement.sessionCount, [.text(id), .double(time)])
                    return (id, count.int(0, 0))
                })
        }
    }

    func forgetSessions(refreshedBefore time: Double) async throws {
        try await forEachAccount { id in
            try await pool.run(of: id) {
                _ = try $0.query(AccountStatement.forgetSessions, [.text(id), .double(time)])
            }
        }
    }

    /// Reads 500 ids at a time.
    private func forEachAccount(_ body: (String) async throws -> Void) async throws {
        var last = ""
        while true {
            let ids = try await pool.run { [last] connection in
                try connection.query(SharedStatement.accountIDs, [.text(last), .int(500)]).texts
            }
            for id in ids {
                try Task.checkCancellation()
                try await body(id)
            }
            guard let next = ids.last else { return }
            last = next
        }
    }

    private static func session(
        _ account: String, _ id: String, _ connection: PostgresConnection
    ) throws -> SessionRecord? {
        let rows = try connection.query(AccountStatement.session, [.text(account), .text(id)])
        return rows.count == 0 ? nil : SessionRecord(rows, 0)
    }

    private static func save(_ session: SessionRecord, _ connection: PostgresConnection) throws {
        try connection.enqueue(AccountStatement.save, session.values)
    }

    // MARK: - Passwords and the end

    func setPassword(
        of account: StoredAccount, to password: String, keeping session: String?, spending reset: OneTimeToken?,
        at time: Double
    ) async throws -> [String]? {
        try await locking(account.id, if: account) { _, connection in
            if let reset {
                let spent = try connection.query(
                    AccountStatement.spendReset, [.text(account.id), .bytes(Array(reset.hash)), .double(time)])
                guard spent.changedCount == 1 else { return nil }
            }
            try connection.enqueue(AccountStatement.setPassword, [.text(account.id), .text(password)])
            try connection.enqueue(AccountStatement.clearResets, [.text(account.id)])
            return try connection.query(
                AccountStatement.endOthers,
                [.text(account.id), .text(SessionEnd.passwordChanged.rawValue), .text(session)]
            ).texts
        }
    }

    func delete(account id: String, if account: StoredAccount?, at time: Double) async throws -> [String]? {
        try await locking(id, if: account) { present, connection in
            try connection.enqueue(AccountStatement.clearResets, [.text(id)])
            try connection.enqueue(IdentityStatement.dropAll, [.text(id)])
            return try Self.delete(id, address: Self.address(present.email), at: time, connection)
        }
    }

    func endedSpaces() async throws -> [String] {
        try await pool.run { try $0.query(SpanningStatement.endedSpaces, []).texts }
    }

    func delete(ended space: String, at time: Double) async throws -> Bool {
        try await transaction(of: space) { connection in
            guard try connection.query(AccountStatement.lockSpace, [.text(space)]).count == 1,
                try connection.query(AccountStatement.memberCount, [.text(space)]).int(0, 0) == 0
            else { return false }
            _ = try Self.delete(space, address: Self.spaceAddress(of: space), at: time, connection)
            return true
        }
    }

    func delete(space: String, at time: Double) async throws {
        try await transaction(of: space) { connection in
            guard try connection.query(AccountStatement.lockSpace, [.text(space)]).count == 1 else { return }
            _ = try Self.delete(space, address: Self.spaceAddress(of: space), at: time, connection)
        }
    }

    /// - Returns: The ids of the sessions.
    private static func delete(
        _ id: String, address: String, at time: Double, _ connection: PostgresConnection
    ) throws -> [String] {
        try connection.enqueue(AccountStatement.delete, [.text(id)])
        try connection.enqueue(SharedStatement.dropAddress, [.text(address), .text(id)])
        let rows = try connection.query(AccountStatement.rowCount, [.text(id)]).int(0, 0)
        let sessions = try connection.query(AccountStatement.deleteSessions, [.text(id)]).texts
        let spaces = try connection.query(SpanningStatement.spaceCount, [.text(id)]).int(0, 0)
        let receipt = DeletionReceipt(
            account: id, deletedAt: time, rows: rows, sessions: sessions.count, spaces: spaces, isErased: false)
        try connection.enqueue(SharedStatement.addDeleted, receipt.values)
        return sessions
    }

    func spaces(of person: String) async throws -> [String] {
        try await pool.run { try $0.query(SpanningStatement.spaces, [.text(person)]).texts }
    }

    func events(of space: String, before place: LogPosition?, limit: Int) async throws -> [AuditedEvent] {
        try await pool.run { try AuditedEvent.latest(limit, of: space, before: place, $0) }
    }

    func isDeleted(account: String) async throws -> Bool {
        try await pool.run { try $0.query(SharedStatement.isDeleted, [.text(account)]).bool(0, 0) }
    }

    func receipts(of account: String?) async throws -> [DeletionReceipt] {
        try await pool.run { connection in
            let rows = try connection.query(SharedStatement.receipts, [.text(account)])
            return (0..<rows.count).map { row in
                DeletionReceipt(
                    account: rows.text(row, 0), deletedAt: rows.double(row, 1), rows: rows.int(row, 2),
                    sessions: rows.int(row, 3), spaces: rows.int(row, 4), isErased: rows.bool(row, 5))
            }
        }
    }

    func accountsToErase() async throws -> [String] {
        try await pool.run { try $0.query(SharedStatement.unerased).texts }
    }

    func erase(account: String) async throws {
        for statement in AccountStatement.erasing {
            var isLast = false
            while !isLast {
                isLast = try await pool.run(of: account) { connection in
                    let gone = try connection.query(statement, [.text(account), .int(Self.erasedAtOnce)])
                    return gone.changedCount < Self.erasedAtOnce
                }
            }
        }
        try await pool.run { _ = try $0.query(SharedStatement.setErased, [.text(account)]) }
    }

    private static let erasedAtOnce = 2_000

    func forgetAccounts(deletedBefore time: Double, spacesDeletedBefore spaceTime: Double) async throws {
        let forgotten = try await pool.run {
            try $0.query(SharedStatement.expiredDeleted, [.double(time), .double(spaceTime)]).texts
        }
        for id in forgotten {
            // The receipt goes last, so that a later call continues after a failure.
            for statement in [AccountStatement.forgetMembers, .forgetAudit] {
                try await pool.run(of: id) { _ = try $0.query(statement, [.text(id)]) }
            }
            try await pool.run { _ = try $0.query(SharedStatement.forgetDeleted, [.text(id)]) }
        }
    }

    // MARK: - Invitations and reset tokens

    func keep(invitation: OneTimeToken, until end: Double) async throws {
        try await pool.run {
            _ = try $0.query(SharedStatement.addInvitation, [.bytes(Array(invitation.hash)), .double(end)])
        }
    }

    func holds(invitation: OneTimeToken, at time: Double) async throws -> Bool {
        try await pool.run {
            try $0.query(SharedStatement.holdsInvitation, [.bytes(Array(invitation.hash)), .double(time)]).bool(0, 0)
        }
    }

    func keep(reset: OneTimeToken, until end: Double) async throws {
        _ = try await locking(reset.account) { _, connection in
            try connection.query(
                AccountStatement.addReset, [.text(reset.account), .bytes(Array(reset.hash)), .double(end)]
            ).changedCount
        }
    }

    func account(reset: OneTimeToken, at time: Double) async throws -> StoredAccount? {
        try await pool.run { connection in
            let isGood = try connection.query(
                AccountStatement.holdsReset, [.text(reset.account), .bytes(Array(reset.hash)), .double(time)])
            return isGood.bool(0, 0) ? try Self.account(reset.account, connection) : nil
        }
    }

    func forgetTokens(endedBefore time: Double) async throws {
        try await pool.run { _ = try $0.query(SharedStatement.forgetInvitations, [.double(time)]) }
        try await forEachAccount { id in
            try await pool.run(of: id) {
                _ = try $0.query(AccountStatement.forgetResets, [.text(id), .double(time)])
            }
        }
    }
}

extension StoredAccount {
    fileprivate init?(_ rows: PostgresRows) {
        if rows.count == 0 { return nil }
        self.init(id: rows.text(0, 0), email: rows.text(0, 1), password: rows.text(0, 2))
    }
}

extension DeletionReceipt {
    var values: [PostgresValue] {
        [.text(account), .double(deletedAt), .bool(isErased), .int(rows), .int(sessions), .int(spaces)]
    }
}

extension SessionRecord {
    var values: [PostgresValue] {
        [
            .text(account), .text(id), .text(deviceID), .text(deviceName.replacing("\0", with: "")), .bytes(salt),
            .int(generation),
            .int(confirmed),
            .double(refreshedAt), .text(ended?.rawValue), begunAt.map { .double($0) } ?? .null,
        ]
    }

    init(_ rows: PostgresRows, _ row: Int) {
        self.init(
            account: rows.text(row, 0), id: rows.text(row, 1), deviceID: rows.text(row, 2),
            deviceName: rows.text(row, 3), salt: rows.bytea(row, 4), generation: rows.int(row, 5),
            confirmed: rows.int(row, 6), refreshedAt: rows.double(row, 7),
            ended: rows.textIfAny(row, 8).map { SessionEnd(rawValue: $0) ?? .revoked },
            begunAt: rows.doubleIfAny(row, 9))
    }
}

extension PostgresRows {
    var texts: [String] { (0..<count).map { text($0, 0) } }
}
