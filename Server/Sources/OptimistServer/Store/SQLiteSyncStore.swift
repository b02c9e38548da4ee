// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) package import OptimistServing
@_spi(Internals) import OptimistWire

/// The embedded store: a SQLite file with one writer, group commit and several readers.
package struct SQLiteSyncStore: SyncStore {
    let database: ServerDatabase
    private let commits: GroupCommit?
    let reads = ReadTurns(connections: ServerDatabase.readers)

    /// - Parameter commits: Nil runs everything directly on the caller's thread, one write after another, so that a
    ///   simulation controls the order.
    package init(_ database: ServerDatabase, commits: GroupCommit?) {
        self.database = database
        self.commits = commits
    }

    package var epoch: String { database.epoch }

    package func read<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
        _ work: @escaping @Sendable (OpenAccounts<any AccountSnapshot>) throws -> Answer
    ) async throws -> Answer {
        let read: @Sendable (Database) throws -> Answer = { db in
            try work(try open(accounts, as: reader, entering: entrances, db).mapped { $0 })
        }
        if commits == nil { return try readNow(read) }
        return try await reads.run(of: reader) { try await database.pool.read(read) }
    }

    package func write<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
        _ work: @escaping @Sendable (OpenAccounts<any AccountTransaction>) throws -> Answer
    ) async throws -> Answer {
        let write: @Sendable (Database) throws -> Answer = { db in
            let opened = try open(accounts, as: reader, entering: entrances, mayFound: true, db)
            let answer = try work(opened.mapped { $0 })
            for account in opened.open.values where account.isUnfounded { try account.giveUp() }
            return answer
        }
        guard let commits else { return try writeNow(write) }
        return try await commits.write(of: reader.turn, write)
    }

    /// The file has one writer, so its lock is every account's lock.
    private func open(
        _ accounts: Set<String>, as reader: Reader, entering entrances: Entrances, mayFound: Bool = false,
        _ db: Database
    ) throws -> OpenAccounts<SQLiteAccount> {
        var opened = OpenAccounts<SQLiteAccount>()
        if !entrances.isEmpty { opened.spaces = try reader.person.map { try SQLiteAccount.spaces(of: $0, db) } }
        // In order, so that a stranger's request always takes the same statements.
        for id in accounts.sorted() {
            func account(_ state: SQLiteAccount.State, _ access: Access) -> SQLiteAccount {
                SQLiteAccount(db, id, state, as: reader, access, epochs: database.epochs)
            }
            let found = try SQLiteAccount.State(of: id, for: reader, entering: entrances, db)
            opened.ended[id] =
                try found?.membership.map(\.end) ?? SQLiteAccount.endings(in: [id], for: reader, db)[id]
            // A missing account takes the same statements as an account that the reader may not open.
            let state = found ?? SQLiteAccount.State(of: .space)
            let access = try entrances.access(
                of: reader, to: id, state.membership, state.kind, account(state, .operator))
            if found != nil {
                if let access { opened.open[id] = account(state, access) }
            } else if mayFound, entrances.founding.contains(id), try SQLiteAccount.found(id, entrances.kind, db) {
                opened.open[id] = account(SQLiteAccount.State(of: entrances.kind), .founding)
            }
        }
        return opened
    }

    package func states(of accounts: Set<String>, as reader: Reader) async throws -> OpenAccounts<AccountState> {
        let read: @Sendable (Database) throws -> OpenAccounts<AccountState> = { db in
            try SQLiteAccount.states(of: accounts, for: reader, epoch: database.epochs.last ?? "", db)
        }
        if commits == nil { return try readNow(read) }
        return try await reads.run(of: reader) { try await database.pool.read(read) }
    }

    package func accounts(after id: String?, limit: Int) async throws -> [String] {
        let read: @Sendable (Database) throws -> [String] = { db in
            try String.fetchAll(
                db, sql: "SELECT account_id FROM optimist_accounts WHERE account_id > ? ORDER BY account_id LIMIT ?",
                arguments: [id ?? "", limit])
        }
        return commits == nil ? try readNow(read) : try await database.pool.read(read)
    }

    /// Calls GRDB's synchronous methods, which an async function cannot call by their plain names.
    private func readNow<Value>(_ read: (Database) throws -> Value) throws -> Value { try database.pool.read(read) }
    private func writeNow<Value>(_ write: (Database) throws -> Value) throws -> Value {
        try database.pool.write(write)
    }
}

final class SQLiteAccount: AccountTransaction {
    let db: Database
    let account: String
    let kind: AccountKind
    let reader: Reader
    var access: Access
    var meter: WorkMeter?
    private let epochNames: [String]
    private(set) var rowCount: Int
    private(set) var seq: Int64
    var floor: Int64
    /// The epoch of the account's last change.
    private var lastEpoch: String?
    /// The day of the account's last change.
    var lastDay: Int?

    init(
        _ db: Database, _ account: String, _ state: State, as reader: Reader, _ access: Access, epochs: [String]
    ) {
        self.db = db
        self.account = account
        kind = state.kind
        self.reader = reader
        self.access = access
        epochNames = epochs
        rowCount = state.rowCount
        seq = state.seq
        lastEpoch = state.epoch
        floor = state.floor
        lastDay = state.day
    }

    var epoch: String { epochNames.last ?? "" }

    func epochs() throws -> Epochs {
        let query = try db.cachedStatement(
            sql: "SELECT epoch, first_seq FROM optimist_account_epochs WHERE account_id = ?")
        var firstSeqs: [String: Int64] = [:]
        let rows = try Row.fetchCursor(query, arguments: [account])
        while let row = try rows.next() { firstSeqs[row[0]] = row[1] }
        try meter?.step(count: 1 + epochNames.count / WorkMeter.countedRowsPerStep)
        return Epochs(names: epochNames, firstSeqs: firstSeqs, seq: seq)
    }

    func rows(type: String, ids: [String]) throws -> [String: StoredRow] {
        var found: [String: StoredRow] = [:]
        // For one row, a key lookup is cheaper than setting up `json_each`.
        let isOne = ids.count == 1
        let query = try db.cachedStatement(
            sql: """
                SELECT id, seq, ordinal, born_seq, content, hidden FROM optimist_rows
                WHERE account_id = ? AND type = ? AND id \(isOne ? "= ?" : "IN (SELECT value FROM json_each(?))")
                """)
        let rows = try Row.fetchCursor(query, arguments: [account, type, isOne ? ids[0] : ids.jsonText])
        while let row = try rows.next() {
            let id: String = row[0]
            let content = try row.bytes(at: 4)
            let hidden = try row.bytesIfAny(at: 5)
            try meter?.step(bytes: content.count + (hidden?.count ?? 0))
            guard
                let stored = StoredRow(
                    content: content, hidden: hidden, seq: row[1], ordinal: row[2],
                    bornSeq: row[3])
            else { throw StoreError.damagedRow(RowKey(type, id)) }
            found[id] = stored
        }
        return found
    }

    func holders(type: String, index: String, keys: [IndexKey]) throws -> [IndexKey: [String]] {
        let texts = keys.map(\.text)
        let isOne = texts.count == 1
        let query = try db.cachedStatement(
            sql: """
                SELECT key, id FROM optimist_index WHERE account_id = ? AND type = ? AND name = ?
                AND key \(isOne ? "= ?" : "IN (SELECT value FROM json_each(?))") ORDER BY key, id
                """)
        var found: [IndexKey: [String]] = [:]
        let rows = try Row.fetchCursor(query, arguments: [account, type, index, isOne ? texts[0] : texts.jsonText])
        while let row = try rows.next() {
            try meter?.step()
            found[IndexKey(row[0]), default: []].append(row[1])
        }
        return found
    }

    func livingRows(type: String, ids: [String], maxBytes: Int) throws -> LivingRows {
        let query = try db.cachedStatement(
            sql: """
                SELECT id, seq, ordinal, born_seq, generation, content, hidden FROM optimist_rows
                WHERE account_id = ? AND type = ? AND generation % 2 = 1 AND id IN (SELECT value FROM json_each(?))
                """)
        let cursor = try Row.fetchCursor(query, arguments: [account, type, ids.jsonText])
        var living = LivingRows(maxBytes: maxBytes)
        while let row = try cursor.next(), living.add(try logged(row)) {}
        return living
    }

    /// Includes deleted rows, so that skipping them counts as work.
    static let livingInOrder = """
        SELECT id, seq, ordinal, born_seq, generation, CASE WHEN generation % 2 = 1 THEN content END,
            CASE WHEN generation % 2 = 1 THEN hidden END
        FROM optimist_rows WHERE account_id = ? AND type = ? AND id > ? ORDER BY id
        """

    func livingRows(type: String, after id: String?, limit: Int, maxBytes: Int) throws -> LivingRows {
        let cursor = try Row.fetchCursor(
            try db.cachedStatement(sql: Self.livingInOrder), arguments: [account, type, id ?? ""])
        var living = LivingRows(limit: limit, maxBytes: maxBytes)
        while let row = try cursor.next() {
            let logged = try logged(row)
            let isAlive = logged.generation % 2 == 1
            if isAlive, !living.add(logged) { break }
        }
        return living
    }

    /// Counts in two indexes without reading rows.
    func livingCount(type: String) throws -> Int {
        let query = try db.cachedStatement(
            sql: """
                SELECT (SELECT count(*) FROM optimist_rows WHERE account_id = ?1 AND type = ?2),
                    (SELECT count(*) FROM optimist_rows WHERE account_id = ?1 AND type = ?2 AND generation % 2 = 0)
                """)
        guard let row = try Row.fetchOne(query, arguments: [account, type]) else { return 0 }
        let (all, deleted): (Int, Int) = (row[0], row[1])
        try meter?.step(count: (all + deleted) / WorkMeter.countedRowsPerStep)
        return all - deleted
    }

    func changes(type: String, from place: LogPosition, limit: Int, maxBytes: Int) throws -> ChangePage {
        let query = try db.cachedStatement(
            sql: """
                SELECT id, seq, ordinal, born_seq, generation, content, CASE WHEN generation % 2 = 1 THEN hidden END
                FROM optimist_rows
                WHERE account_id = ? AND type = ? AND (seq, ordinal) >= (?, ?) ORDER BY seq, ordinal LIMIT ?
                """)
        let cursor = try Row.fetchCursor(query, arguments: [account, type, place.seq, place.ordinal, limit + 1])
        var page = ChangePage(rows: [])
        var size = 0
        while let row = try cursor.next() {
            let logged = try logged(row)
            size += logged.byteCount
            if page.rows.count == limit || (!page.rows.isEmpty && size > maxBytes) {
                page.next = logged.place
                break
            }
            page.rows.append(logged)
        }
        return page
    }

    private func logged(_ row: Row) throws -> LoggedRow {
        let logged = try LoggedRow(row)
        try meter?.step(bytes: logged.byteCount)
        return logged
    }

    func notePush(_ number: Int64, device: String, day: Int) throws -> Bool {
        let upsert = try db.cachedStatement(
            sql: """
                INSERT INTO optimist_pushes (account_id, person_id, device, number, day) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET number = excluded.number, day = excluded.day WHERE excluded.number >= number
                """)
        try upsert.execute(arguments: [account, reader.person ?? "", device, number, day])
        return db.changesCount == 1
    }

    func append(_ changes: [RowChange], day: Int) throws -> Int64 {
        try beginEpochIfNeeded()
        try begin(day: day)
        seq += 1
        rowCount += changes.reduce(0) { $0 + $1.growth }
        let update = try db.cachedStatement(
            sql: "UPDATE optimist_accounts SET seq = ?, row_count = ? WHERE account_id = ?")
        try update.execute(arguments: [seq, rowCount, account])
        let upsert = try db.cachedStatement(
            sql: """
                INSERT INTO optimist_rows (account_id, type, id, generation, seq, ordinal, born_seq, content, hidden)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET generation = excluded.generation, seq = excluded.seq,
                    ordinal = excluded.ordinal, born_seq = excluded.born_seq, content = excluded.content,
                    hidden = excluded.hidden
                """)
        for (ordinal, change) in changes.enumerated() {
            let stored = StoredRow(change, seq: seq, ordinal: ordinal)
            let content = String(decoding: stored.content(id: change.key.id), as: UTF8.self)
            let hidden = stored.hidden.map { String(decoding: $0, as: UTF8.self) }
            try meter?.step(bytes: content.utf8.count + (hidden?.utf8.count ?? 0))
            try upsert.execute(arguments: [
                account, change.key.type, change.key.id, change.row.generation, seq, ordinal, stored.bornSeq, content,
                hidden,
            ])
            try index(change)
            if let membership = change.membership { try note(membership) }
        }
        return seq
    }

    private func index(_ change: RowChange) throws {
        for entry in change.droppedEntries {
            let delete = try db.cachedStatement(
                sql: """
                    DELETE FROM optimist_index WHERE account_id = ? AND type = ? AND name = ? AND key = ? AND id = ?
                    """)
            try delete.execute(arguments: [account, change.key.type, entry.index, entry.key.text, change.key.id])
        }
        for entry in change.addedEntries { try RowIndex.add(entry, change.key, account: account, db) }
    }

    /// Records the seq that the account has before its first change in this epoch.
    private func beginEpochIfNeeded() throws {
        guard let present = epochNames.last, lastEpoch != present else { return }
        try db.execute(
            sql: "INSERT INTO optimist_account_epochs (account_id, epoch, first_seq) VALUES (?, ?, ?)",
            arguments: [account, present, seq])
        try db.execute(
            sql: "UPDATE optimist_accounts SET epoch = ? WHERE account_id = ?", arguments: [present, account])
        lastEpoch = present
    }
}

extension LoggedRow {
    fileprivate init(_ row: Row) throws {
        self.init(
            id: row[0], place: LogPosition(seq: row[1], ordinal: row[2]), bornSeq: row[3], generation: row[4],
            content: try row.bytes(at: 5), hidden: try row.bytesIfAny(at: 6))
    }
}

extension Row {
    /// The bytes of a text, without creating a string.
    func bytes(at index: Int) throws -> [UInt8] { try bytesIfAny(at: index) ?? [] }

    /// Nil for null.
    func bytesIfAny(at index: Int) throws -> [UInt8]? {
        try withUnsafeData(atIndex: index) { data in data.map { [UInt8]($0) } }
    }
}

extension [String] {
    /// For SQLite's `json_each`.
    var jsonText: String { JSON.array(map(JSON.string)).description }
}
