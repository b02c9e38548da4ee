// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

/// An account whose rows the file has: a row of `optimist_scope`. Each account has its own order of transactions.
struct Scope: Equatable, Sendable {
    /// The number of the person's own account. Every file has it.
    static let personal: Int64 = 0

    let number: Int64
    /// The wire id of the space. Nil for the personal account.
    var space: String?
    /// The wire id of the person's own row among the members of the space. Nil if unknown.
    var member: String?
    /// The secret of the link by which this device joined. Nil on devices that did not open a link, and for the space's
    /// founder.
    var ticket: String?
    /// The epochs of the remote's database as this device knows them, oldest first.
    var epochs: [RemoteEpoch] = []
    /// When the device forgets deleted rows. Nil until it first knows one of the server's transactions.
    var forgetting: Forgetting?

    /// Rows deleted up to a transaction are forgotten when the server no longer remembers them (L5).
    struct Forgetting: Equatable, Sendable {
        var seq: Int64
        /// When the transaction was recorded, by the remote's clock, in milliseconds since 1970.
        var at: Int64
    }

    /// Whether the remote may have been restored since this device first knew the scope. An embedded server begins an
    /// epoch at each start.
    var mayHaveBeenRestored: Bool { epochs.count > 1 }

    /// Whether a row is the person's own row among the members of the space.
    func isOwnMember(_ ref: RowRef, in layout: TableLayout) -> Bool {
        layout.name == MemberRow.databaseTableName && layout.idForm.wire(ref.id).map { $0 == member } ?? false
    }

    /// Notes the epoch of the first exchange of rows. The remote reports later epochs.
    mutating func note(epoch: String) {
        if epochs.isEmpty { epochs = [RemoteEpoch(name: epoch, firstSeq: 0)] }
    }

    /// Lowers the noted transaction after a rewind of the remote to `seq`, because new transactions get later numbers.
    mutating func rememberDeletedRows(after seq: Int64) {
        if let noted = forgetting?.seq, noted > seq { forgetting?.seq = seq }
    }
}

extension Scope {
    static func fetch(_ number: Int64, in db: Database) throws -> Scope {
        var scope = Scope(number: number)
        let statement = try db.cachedStatement(
            sql: "SELECT epochs, deletedSeq, deletedSeqAt, space, member, ticket FROM optimist_scope WHERE number = ?")
        guard let row = try Row.fetchOne(statement, arguments: [number]) else { return scope }
        if let text = row[0] as String? { scope.epochs = [RemoteEpoch](json: try? JSON(parsing: text.utf8)) }
        if let seq = row[1] as Int64?, let at = row[2] as Int64? { scope.forgetting = Forgetting(seq: seq, at: at) }
        (scope.space, scope.member, scope.ticket) = (UUIDForm.bytes.wire(row[3]), UUIDForm.bytes.wire(row[4]), row[5])
        return scope
    }

    static func numbers(in db: Database) throws -> [Int64] {
        try Int64.fetchAll(db.cachedStatement(sql: "SELECT number FROM optimist_scope ORDER BY number"))
    }

    /// Changes a scope in the running transaction. Writes nothing if `change` changes nothing.
    static func update(_ number: Int64 = personal, in db: Database, _ change: (inout Scope) -> Void) throws {
        let before = try fetch(number, in: db)
        var scope = before
        change(&scope)
        if scope != before { try scope.save(in: db) }
    }

    private func save(in db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO optimist_scope(number, epochs, deletedSeq, deletedSeqAt, space, member)
                VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(number) DO UPDATE SET
                epochs = excluded.epochs, deletedSeq = excluded.deletedSeq, deletedSeqAt = excluded.deletedSeqAt,
                member = excluded.member
                """
        ).execute(arguments: [
            number, epochs.isEmpty ? nil : JSON.array(epochs.map(\.json)).description, forgetting?.seq, forgetting?.at,
            space.flatMap(UUIDForm.bytes.stored), member.flatMap(UUIDForm.bytes.stored),
        ])
    }
}

// MARK: - Spaces

extension Scope {
    /// The number of a space's scope. Nil if the person does not use the space.
    static func number(ofSpace space: String, in db: Database) throws -> Int64? {
        guard let id = UUIDForm.bytes.stored(space) else { return nil }
        return try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT number FROM optimist_scope WHERE space = ?"), arguments: [id])
    }

    /// The number of the scope of an account. Nil if the person does not use the account.
    static func number(ofAccount account: String, in db: Database) throws -> Int64? {
        if let space = SpaceAccount.space(of: account) { return try number(ofSpace: space, in: db) }
        return try Meta.string(.ownAccount, in: db) == account ? personal : nil
    }
}
