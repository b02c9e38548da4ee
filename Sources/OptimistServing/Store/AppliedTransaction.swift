// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

/// A transaction of an account that is durable, for what follows from it: a mail, a webhook, a search index.
public struct AppliedTransaction: Sendable {
    /// The account's id.
    public let account: String
    /// The number of the transaction. The numbers of an account have no gaps.
    public let seq: Int64
    /// The rows whose last change is this transaction. A row that has changed again since is in the later one, so the list
    /// may be empty.
    public let rows: [AppliedRow]
}

/// A row of an ``AppliedTransaction``.
public struct AppliedRow: Sendable {
    /// The row, under the current name of its type.
    public let key: RowKey
    /// The values by column, in their form on the wire. A counter is its sum. Nil: the row was deleted.
    public let values: JSONObject?
    /// Whether the transaction began the row's life.
    public let isNew: Bool
}

@_spi(Internals) extension AccountSnapshot {
    /// The transactions that the app has not been told of yet, in order. Types that the schema does not have are left out.
    ///
    /// - Parameters:
    ///   - account: The account's id.
    ///   - schema: The server's schema.
    ///   - limit: The most transactions to return.
    /// - Throws: The database's error, or ``StoreError/damagedRow(_:)``.
    public func unreported(of account: String, by schema: Schema, limit: Int) throws -> [AppliedTransaction] {
        let reported = try reportedSeq()
        let last = min(seq, reported + Int64(limit))
        guard reported < last else { return [] }
        var rows: [Int64: [(ordinal: Int, row: AppliedRow)]] = [:]
        for (name, type) in schema.types.sorted(by: { $0.key < $1.key }) {
            for logged in try changes(of: name, after: reported, through: last) {
                let row = try AppliedRow(logged, name, type)
                rows[logged.place.seq, default: []].append((logged.place.ordinal, row))
            }
        }
        return (reported + 1...last).map { seq in
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
