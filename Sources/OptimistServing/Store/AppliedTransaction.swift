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
}

/// A row of an ``AppliedTransaction``.
public struct AppliedRow: Sendable {
    /// The row, under the current name of its type.
    public let key: RowKey
    /// The values by column, in their wire form. A counter is its sum. Nil: the row was deleted.
    public let values: JSONObject?
    /// Whether the row's life began in the transaction.
    public let isNew: Bool
}

@_spi(Internals) extension AccountSnapshot {
    /// The first `limit` transactions that were not yet reported to the app, in order. Omits rows whose type is not in
    /// the schema.
    ///
    /// - Throws: The database's error, or ``StoreError/damagedRow(_:)``.
    public func unreported(by schema: Schema, limit: Int) throws -> [AppliedTransaction] {
        try transactions(after: try reportedSeq(), by: schema, limit: limit)
    }

    /// The first `limit` transactions after a position, in order. Omits rows whose type is not in the schema.
    ///
    /// - Throws: The database's error, or ``StoreError/damagedRow(_:)``.
    public func transactions(after position: Int64, by schema: Schema, limit: Int) throws -> [AppliedTransaction] {
        let last = min(seq, position + Int64(limit))
        guard position < last else { return [] }
        var rows: [Int64: [(ordinal: Int, row: AppliedRow)]] = [:]
        for (name, type) in schema.types.sorted(by: { $0.key < $1.key }) {
            for logged in try changes(of: name, after: position, through: last) {
                let row = try AppliedRow(logged, name, type)
                rows[logged.place.seq, default: []].append((logged.place.ordinal, row))
            }
        }
        return (position + 1...last).map { seq in
            let changed = (rows[seq] ?? []).sorted { $0.ordinal < $1.ordinal }
            return AppliedTransaction(account: account, seq: seq, rows: changed.map(\.row))
        }
    }

    private func changes(of type: String, after first: Int64, through last: Int64) throws -> [LoggedRow] {
        var found: [LoggedRow] = []
        var place: LogPosition? = LogPosition(seq: first + 1, ordinal: 0)
        while let start = place, start.seq <= last {
            let page = try changes(type: type, from: start, limit: 1_000, maxBytes: 4_000_000)
            found += page.rows.filter { $0.place.seq <= last }
            place = page.next
        }
        return found
    }
}

extension AppliedRow {
    fileprivate init(_ logged: LoggedRow, _ name: String, _ type: TypeSchema) throws {
        key = RowKey(name, logged.id)
        isNew = logged.isAlive && logged.bornSeq == logged.place.seq
        guard logged.isAlive else {
            values = nil
            return
        }
        let stored = StoredRow(
            content: logged.content, hidden: logged.hidden, seq: logged.place.seq, ordinal: logged.place.ordinal,
            bornSeq: logged.bornSeq)
        guard let stored else { throw StoreError.damagedRow(key) }
        values = stored.row.shown(as: type)
    }
}
