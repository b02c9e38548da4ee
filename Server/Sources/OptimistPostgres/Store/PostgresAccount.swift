// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
import OptimistWire

/// One account within an open transaction. It must not be used after the transaction.
///
/// Reads wait for their answers. Most writes are sent with the next read or the commit, so they cost no round trip.
final class PostgresAccount: AccountTransaction {
    let connection: PostgresConnection
    let account: String
    let kind: AccountKind
    let reader: Reader
    var access: Access
    var meter: WorkMeter?
    private let epochNames: [String]
    private(set) var rowCount: Int
    private(set) var seq: Int64
    private(set) var floor: Int64
    private var lastEpoch: String?
    private var lastDay: Int?
    /// The version of the schema whose names and indexes the rows use. Zero: the account has had no request, so it has
    /// no rows.
    let schemaVersion: Int

    /// - Parameter rows: The answer to `read` or `lock`.
    init(
        _ connection: PostgresConnection, _ account: String, as reader: Reader, _ access: Access, _ rows: PostgresRows,
        epochs: DatabaseEpochs
    ) throws {
        self.connection = connection
        self.account = account
        self.reader = reader
        self.access = access
        seq = rows.int64(0, 0)
        lastEpoch = rows.textIfAny(0, 1)
        floor = rows.int64(0, 2)
        lastDay = rows.intIfAny(0, 3)
        schemaVersion = rows.int(0, 4)
        epochNames = try epochs.names(upTo: rows.int64(0, 5), connection)
        rowCount = rows.int(0, 6)
        kind = AccountKind(text: rows.text(0, 12))
    }

    /// Makes an empty account, in place of an account that does not exist.
    init(missing account: String, _ connection: PostgresConnection, as reader: Reader) {
        (self.connection, self.account, self.reader) = (connection, account, reader)
        (kind, access, epochNames) = (.space, .operator, [])
        (rowCount, seq, floor, schemaVersion) = (0, 0, 0, 0)
    }

    var epoch: String { epochNames.last ?? "" }

    func epochs() throws -> Epochs {
        let rows = try connection.query(RowStatement.epochs, [.text(account)])
        var firstSeqs: [String: Int64] = [:]
        for row in 0..<rows.count { firstSeqs[rows.text(row, 0)] = rows.int64(row, 1) }
        return Epochs(names: epochNames, firstSeqs: firstSeqs, seq: seq)
    }

    // MARK: - Reading

    func rows(type: String, ids: [String]) throws -> [String: StoredRow] {
        let ids = ids.filter(\.isStorable)
        let isOne = ids.count == 1
        let rows = try connection.query(
            isOne ? RowStatement.row : .rows, [.text(account), .text(type), isOne ? .text(ids[0]) : .texts(ids)])
        var found: [String: StoredRow] = [:]
        for row in 0..<rows.count {
            let id = rows.text(row, 0)
            let content = rows.bytes(row, 4)
            let hidden = rows.bytesIfAny(row, 5)
            try meter?.step(bytes: content.count + (hidden?.count ?? 0))
            guard
                let stored = StoredRow(
                    content: content, hidden: hidden, seq: rows.int64(row, 1),
                    ordinal: rows.int(row, 2),
                    bornSeq: rows.int64(row, 3))
            else { throw StoreError.damagedRow(RowKey(type, id)) }
            found[id] = stored
        }
        return found
    }

    func holders(type: String, index: String, keys: [IndexKey]) throws -> [IndexKey: [String]] {
        let byStored = Dictionary(keys.map { (IndexKey($0.text.shortKey), $0) }, uniquingKeysWith: { $1 })
        let rows = try connection.query(
            RowStatement.holders, [.text(account), .text(type), .text(index), .texts(byStored.keys.map(\.text))])
        var found: [IndexKey: [String]] = [:]
        for row in 0..<rows.count {
            try meter?.step()
            if let key = byStored[IndexKey(rows.text(row, 0))] { found[key, default: []].append(rows.text(row, 1)) }
        }
        return found
    }

    func livingRows(type: String, ids: [String], maxBytes: Int) throws -> LivingRows {
        let rows = try connection.query(
            RowStatement.livingRows, [.text(account), .text(type), .texts(ids.filter(\.isStorable)), .int(maxBytes)])
        return try living(rows, LivingRows(maxBytes: maxBytes))
    }

    func livingRows(type: String, after id: String?, limit: Int, maxBytes: Int) throws -> LivingRows {
        let rows = try connection.query(
            RowStatement.livingInOrder,
            [.text(account), .text(type), .text(id ?? ""), .int(limit.next), .int(maxBytes)])
        return try living(rows, LivingRows(limit: limit, maxBytes: maxBytes))
    }

    private func living(_ rows: PostgresRows, _ empty: LivingRows) throws -> LivingRows {
        var living = empty
        for row in 0..<rows.count where !living.hasMore { _ = living.add(try logged(rows, row)) }
        return living
    }

    func livingCount(type: String) throws -> Int {
        let count = try connection.query(RowStatement.livingCount, [.text(account), .text(type)]).int(0, 0)
        try meter?.step(count: count / WorkMeter.countedRowsPerStep)
        return count
    }

    func changes(type: String, from place: LogPosition, limit: Int, maxBytes: Int) throws -> ChangePage {
        let rows = try connection.query(
            RowStatement.changes,
            [.text(account), .text(type), .int(place.seq), .int(place.ordinal), .int(limit.next), .int(maxBytes)])
        var page = ChangePage(rows: [])
        var size = 0
        for row in 0..<rows.count {
            let logged = try logged(rows, row)
            size += logged.byteCount
            if page.rows.count == limit || (!page.rows.isEmpty && size > maxBytes) {
                page.next = logged.place
                break
            }
            page.rows.append(logged)
        }
        return page
    }

    private func logged(_ rows: PostgresRows, _ row: Int) throws -> LoggedRow {
        let logged = LoggedRow(
            id: rows.text(row, 0), place: LogPosition(seq: rows.int64(row, 1), ordinal: rows.int(row, 2)),
            bornSeq: rows.int64(row, 3), generation: rows.int(row, 4), content: rows.bytes(row, 5),
            hidden: rows.bytesIfAny(row, 6))
        try meter?.step(bytes: logged.byteCount)
        return logged
    }

    // MARK: - Writing

    func reportedSeq() throws -> Int64 { try connection.query(RowStatement.reported, [.text(account)]).int64(0, 0) }

    func noteReported(_ seq: Int64) throws {
        try connection.enqueue(RowStatement.setReported, [.text(account), .int(seq)])
    }

    func notePush(_ number: Int64, device: String, day: Int) throws -> Bool {
        let values: [PostgresValue] = [
            .text(account), .text(reader.person ?? ""), .text(device), .int(number), .int(day),
        ]
        return try connection.query(RowStatement.notePush, values).changedCount == 1
    }

    func append(_ changes: [RowChange], day: Int) throws -> Int64 {
        try beginEpochIfNeeded()
        try begin(day: day)
        seq += 1
        rowCount += changes.reduce(0) { $0 + $1.growth }
        try connection.enqueue(RowStatement.setSeq, [.text(account), .int(seq), .int(rowCount)])
        try upsert(changes)
        for change in changes {
            for entry in change.droppedEntries {
                try connection.enqueue(
                    RowStatement.dropIndex,
                    [
                        .text(account), .text(change.key.type), .text(entry.index), .text(entry.key.text.shortKey),
                        .text(change.key.id),
                    ])
            }
        }
        try addToIndex(changes.flatMap { change in change.addedEntries.map { (change.key, $0) } })
        for change in changes { try change.membership.map(note) }
        return seq
    }

    private func upsert(_ changes: [RowChange]) throws {
        var ordinal = 0
        for (statement, chunk) in RowStatement.upserts(changes) {
            var values: [PostgresValue] = [.text(account), .int(seq)]
            for change in chunk {
                let stored = StoredRow(change, seq: seq, ordinal: ordinal)
                let (content, hidden) = (stored.content(id: change.key.id), stored.hidden)
                try meter?.step(bytes: content.count + (hidden?.count ?? 0))
                values += [
                    .text(change.key.type), .text(change.key.id), .int(change.row.generation), .int(ordinal),
                    .int(stored.bornSeq), .utf8(content), hidden.map { .utf8($0) } ?? .null,
                ]
                ordinal += 1
            }
            try connection.enqueue(statement, values)
        }
    }

    func addToIndex(_ entries: [(key: RowKey, entry: IndexEntry)]) throws {
        for (statement, chunk) in RowStatement.indexing(entries) {
            var values: [PostgresValue] = [.text(account)]
            for (key, entry) in chunk {
                values += [.text(key.type), .text(entry.index), .text(entry.key.text.shortKey), .text(key.id)]
            }
            try connection.enqueue(statement, values)
        }
    }

    /// Records the account's seq before its first change in this epoch.
    private func beginEpochIfNeeded() throws {
        guard let present = epochNames.last, lastEpoch != present else { return }
        // An epoch began while this transaction waited for the account's lock. A retry will see it.
        if let lastEpoch, !epochNames.contains(lastEpoch) { throw PostgresError(.refused("40001")) }
        try connection.enqueue(RowStatement.beginEpoch, [.text(account), .text(present), .int(seq)])
        try connection.enqueue(RowStatement.setEpoch, [.text(account), .text(present)])
        lastEpoch = present
    }

    /// Records the day of the next transaction, and drops later days, because a wrong clock produced them.
    private func begin(day: Int) throws {
        guard lastDay != day else { return }
        lastDay = day
        try connection.enqueue(RowStatement.setDay, [.text(account), .int(day)])
        try connection.enqueue(RowStatement.dropDays, [.text(account), .int(day)])
        try connection.enqueue(RowStatement.addDay, [.text(account), .int(day), .int(seq)])
    }

    // MARK: - Purging old tombstones

    private func seq(before day: Int) throws -> Int64 {
        let rows = try connection.query(RowStatement.seqBefore, [.text(account), .int(day)])
        return Expiry.seq(before: day, seq: seq, lastDay: lastDay, noted: rows.count == 1 ? rows.int64(0, 0) : nil)
    }

    func hasExpired(_ expiry: Expiry) throws -> Bool {
        let last = try seq(before: expiry.deletedBefore)
        let values: [PostgresValue] = [
            .text(account), .int(last), .int(expiry.pushedBefore), .int(expiry.auditedBeforeMilliseconds),
            .int(SpaceEvent.limit),
        ]
        return try connection.query(RowStatement.hasExpired, values).bool(0, 0)
    }

    func forget(_ expiry: Expiry, limit: Int) throws -> Bool {
        let last = try seq(before: expiry.deletedBefore)
        let gone = try connection.query(RowStatement.forget, [.text(account), .int(last), .int(limit)])
        floor = max(floor, gone.int64(0, 1))
        try connection.enqueue(RowStatement.setFloor, [.text(account), .int(floor)])
        try connection.enqueue(RowStatement.forgetPushes, [.text(account), .int(expiry.pushedBefore)])
        try connection.enqueue(RowStatement.forgetDays, [.text(account), .int(expiry.deletedBefore)])
        try connection.enqueue(
            RowStatement.forgetEvents,
            [.text(account), .int(expiry.auditedBeforeMilliseconds), .int(SpaceEvent.limit)])
        return gone.bool(0, 0)
    }
}

extension Int {
    fileprivate var next: Int { self == .max ? .max : self + 1 }
}

extension RowStatement {
    /// Splits rows into statements of three sizes, so that many rows take few statements.
    fileprivate static func upserts<Row>(_ rows: [Row]) -> [(RowStatement, ArraySlice<Row>)] {
        split(rows, [(128, .upsert128), (16, .upsert16), (1, .upsert1)])
    }

    fileprivate static func indexing<Entry>(_ entries: [Entry]) -> [(RowStatement, ArraySlice<Entry>)] {
        split(entries, [(16, .addIndex16), (1, .addIndex1)])
    }

    private static func split<Element>(
        _ all: [Element], _ sizes: [(count: Int, statement: RowStatement)]
    ) -> [(RowStatement, ArraySlice<Element>)] {
        var (parts, rest): ([(RowStatement, ArraySlice<Element>)], ArraySlice<Element>) = ([], all[...])
        for size in sizes {
            while rest.count >= size.count {
                parts.append((size.statement, rest.prefix(size.count)))
                rest = rest.dropFirst(size.count)
            }
        }
        return parts
    }
}
