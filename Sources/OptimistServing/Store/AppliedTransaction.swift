// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

/// A durable transaction of an account. Use it to trigger effects such as mail, a webhook or a search index.
public struct AppliedTransaction: Sendable {
    /// The account's id.
    public let account: String
    /// The number of the transaction. An account's numbers have no gaps.
    public let seq: Int64
    /// The rows that this transaction was the last to change. A row that changed again appears in the later transaction
    /// instead, so the list may be empty.
    public let rows: [AppliedRow]

    /// The id of the space. Nil: the account is a person's.
    public var space: String? { SpaceAccount.space(of: account) }
}

/// A row of an ``AppliedTransaction``.
public struct AppliedRow: Sendable {
    /// The row, under the current name of its type.
    public let key: RowKey
    /// The values by column, in their wire form. A counter is its sum. Nil: the row was deleted.
    public let values: JSONObject?
    /// Whether the row's life began in the transaction.
    public let isNew: Bool
    /// The sender of this change: a person, a program with a service key, or the server, which also imports rows.
    public let writer: Writer
}

/// Consecutive transactions of an account.
@_spi(Internals) public struct TransactionPage: Sendable {
    public var transactions: [AppliedTransaction] = []
    /// Whether the account has later ones.
    public var hasMore = false

    public init() {}
}

@_spi(Internals) extension AccountSnapshot {
    /// The first `limit` transactions that were not yet reported to the app, in order. Omits rows whose type is not in
    /// the schema.
    ///
    /// - Throws: The database's error, or ``StoreError/damagedRow(_:)``.
    public func unreported(by schema: Schema, limit: Int) throws -> TransactionPage {
        try transactions(after: try reportedSeq(), by: schema, limit: limit)
    }

    /// The first `limit` transactions after a position, in order. Omits rows whose type is not in the schema.
    ///
    /// - Parameter maxBytes: Fewer transactions if their rows are larger, but at least one. Default: 4 MB.
    /// - Throws: The database's error, or ``StoreError/damagedRow(_:)``.
    public func transactions(
        after position: Int64, by schema: Schema, limit: Int, maxBytes: Int = 4_000_000
    ) throws -> TransactionPage {
        var page = TransactionPage()
        var last = min(seq, position + Int64(limit))
        guard position < last else { return page }
        var rows: [Int64: [(ordinal: Int, row: AppliedRow)]] = [:]
        var room = maxBytes
        for (name, type) in schema.types.sorted(by: { $0.key < $1.key }) {
            var place: LogPosition? = LogPosition(seq: position + 1, ordinal: 0)
            while let start = place, start.seq <= last {
                let changes = try changes(type: name, from: start, limit: 1_000, maxBytes: maxBytes)
                let enders = try writers(of: changes.rows.filter { $0.place.seq <= last && !$0.isAlive }, name)
                for logged in changes.rows where logged.place.seq <= last {
                    room -= logged.byteCount
                    if room < 0 { last = max(position + 1, logged.place.seq - 1) }
                    let row = try AppliedRow(logged, enders[logged.id], name, type, account)
                    rows[logged.place.seq, default: []].append((logged.place.ordinal, row))
                }
                place = changes.next
            }
        }
        page.transactions = (position + 1...last).map { seq in
            let changed = (rows[seq] ?? []).sorted { $0.ordinal < $1.ordinal }
            return AppliedTransaction(account: account, seq: seq, rows: changed.map(\.row))
        }
        page.hasMore = last < seq
        return page
    }

    /// The writers of deletions who are not the person whose account it is. A page has deleted rows without the data that
    /// only the server keeps. That data has the rows' last values, so few rows are read at a time.
    private func writers(of deleted: [LoggedRow], _ type: String) throws -> [String: Writer] {
        var writers: [String: Writer] = [:]
        for start in stride(from: 0, to: deleted.count, by: Self.deletedRowsAtOnce) {
            let ids = deleted[start...].prefix(Self.deletedRowsAtOnce).map(\.id)
            for (id, row) in try rows(type: type, ids: ids) { writers[id] = row.memory.writer }
        }
        return writers
    }

    private static var deletedRowsAtOnce: Int { 16 }
}

extension AppliedRow {
    /// - Parameter ender: For a deleted row: the sender of the deletion. Nil: the person whose account it is.
    fileprivate init(
        _ logged: LoggedRow, _ ender: Writer?, _ name: String, _ type: TypeSchema, _ account: String
    ) throws {
        key = RowKey(name, logged.id)
        isNew = logged.isAlive && logged.bornSeq == logged.place.seq
        guard logged.isAlive else {
            (values, writer) = (nil, ender ?? .person(account))
            return
        }
        let stored = StoredRow(
            content: logged.content, hidden: logged.hidden, seq: logged.place.seq, ordinal: logged.place.ordinal,
            bornSeq: logged.bornSeq)
        guard let stored else { throw StoreError.damagedRow(key) }
        values = stored.row.shown(as: type)
        writer = stored.memory.writer ?? .person(account)
    }
}
