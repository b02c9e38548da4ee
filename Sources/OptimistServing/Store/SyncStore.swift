// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// The one seam between the protocol and a database.
///
/// A store keeps rows in the order of their transactions, account by account. It decides nothing: what a push means is
/// worked out by `SetEvaluation`, a value, between what a transaction read and what it writes.
public protocol SyncStore: Sendable {
    /// Runs `work` on one snapshot of an account, off the event loops.
    ///
    /// - Throws: What `work` throws, ``StoreError/noAccount``, or the database's error.
    func read<Answer: Sendable>(
        account: String, _ work: @escaping @Sendable (any AccountSnapshot) throws -> Answer
    ) async throws -> Answer

    /// Runs `work` under the account's lock, and returns once what it wrote is durable.
    ///
    /// When `work` throws, nothing that it wrote is kept. Cancelling the caller does not undo it.
    func write<Answer: Sendable>(
        account: String, _ work: @escaping @Sendable (any AccountTransaction) throws -> Answer
    ) async throws -> Answer

    /// The ids of some accounts, in order.
    ///
    /// - Parameter id: The account after which they begin. Nil: the first one.
    func accounts(after id: String?, limit: Int) async throws -> [String]
}

/// What a transaction sees of one account. Every statement behind it is bound to that account.
public protocol AccountSnapshot {
    /// Counts the work of the request that the snapshot was opened for. A store steps it for each row that it reads or
    /// writes, and hands on the error that it throws. Nil: the work is not counted.
    var meter: WorkMeter? { get nonmutating set }
    /// The account's last transaction.
    var seq: Int64 { get }
    /// The last transaction whose deleted rows have been forgotten. A device cannot go on from a state before it.
    var floor: Int64 { get }
    /// Whether there is anything to forget.
    func hasExpired(_ expiry: Expiry) throws -> Bool
    /// The lives of the database as far as the account knows them.
    func epochs() throws -> Epochs
    /// The rows with these ids, deleted ones included. Unknown ids are left out.
    func rows(type: String, ids: [String]) throws -> [String: StoredRow]
    /// The living rows of a type with these keys in an index: their ids, sorted, by key. Keys that none has are left out.
    ///
    /// - Parameter index: A name that ``RowChange`` uses in its entries.
    func holders(type: String, index: String, keys: [IndexKey]) throws -> [IndexKey: [String]]
    /// The stored JSON of the living rows among these, in no particular order.
    ///
    /// - Parameter maxBytes: How much room they may take up together. The rest is left out: at least one row comes.
    func livingRows(type: String, ids: [String], maxBytes: Int) throws -> LivingRows
    /// The stored JSON of living rows in the order of their ids: at least one if there is any.
    ///
    /// - Parameters:
    ///   - id: The id after which the rows begin. Nil: the first row.
    ///   - limit: The most rows to return.
    ///   - maxBytes: How much room they may take up together.
    func livingRows(type: String, after id: String?, limit: Int, maxBytes: Int) throws -> LivingRows
    /// How many living rows there are.
    func livingCount(type: String) throws -> Int
    /// The rows that changed last at a place or later, in order: at least one if there is any.
    ///
    /// - Parameters:
    ///   - limit: The most rows to return.
    ///   - maxBytes: How much room they may take up together.
    func changes(type: String, from place: LogPosition, limit: Int, maxBytes: Int) throws -> ChangePage
}

/// A snapshot under the account's lock, to which rows can be written.
public protocol AccountTransaction: AccountSnapshot {
    /// Notes the number of a device's push.
    ///
    /// - Parameter day: The present one, as ``Expiry`` counts them.
    /// - Returns: Whether it is at least the highest one seen.
    func notePush(_ number: Int64, device: String, day: Int) throws -> Bool
    /// Stores rows under the next seq, in this order, with their index entries.
    ///
    /// - Parameter day: The present one. It tells later what was deleted when.
    /// - Returns: That seq.
    func append(_ changes: [RowChange], day: Int) throws -> Int64
    /// Forgets deleted rows, the oldest first, and raises the floor to the last of them.
    ///
    /// - Returns: Whether there is more.
    func forget(_ expiry: Expiry, limit: Int) throws -> Bool
}

/// A row on its way into a store.
public struct RowChange: Sendable {
    public var key: RowKey
    public var row: MergeRow
    public var memory: RowMemory
    /// The transaction in which its present life began. Nil: this one.
    public var bornSeq: Int64?
    /// The entries under which the row is no longer found.
    public var droppedEntries: Set<IndexEntry>
    /// Those under which it is found from now on.
    public var addedEntries: Set<IndexEntry>
}

/// A row as it stands in the order of changes, its JSON unread.
public struct LoggedRow: Sendable {
    public var id: String
    public var place: LogPosition
    public var bornSeq: Int64
    public var generation: Int
    public var content: [UInt8]
    /// What ``StoredRow/hidden`` was. Nil of a deleted row: a page shows nothing of that.
    public var hidden: [UInt8]?

    public init(
        id: String, place: LogPosition, bornSeq: Int64, generation: Int, content: [UInt8], hidden: [UInt8]? = nil
    ) {
        self.id = id
        self.place = place
        self.bornSeq = bornSeq
        self.generation = generation
        self.content = content
        self.hidden = hidden
    }

    var isAlive: Bool { generation % 2 == 1 }

    /// How much room it takes up.
    public var byteCount: Int { content.count + (hidden?.count ?? 0) }
}

/// Some living rows.
public struct LivingRows: Sendable {
    public var rows: [LoggedRow] = []
    /// Whether there are others, for which there was no room.
    public var hasMore = false
    private var room: Int
    private let limit: Int

    public init(limit: Int = .max, maxBytes: Int) {
        self.limit = limit
        room = maxBytes
    }

    /// Adds a row, if there is room for it.
    ///
    /// - Returns: Whether there was.
    public mutating func add(_ row: LoggedRow) -> Bool {
        room -= row.byteCount
        hasMore = rows.count == limit || (room < 0 && !rows.isEmpty)
        if !hasMore { rows.append(row) }
        return !hasMore
    }
}

/// Some rows in the order of changes.
public struct ChangePage: Sendable {
    public var rows: [LoggedRow]
    /// The place of the first row that had no room. Nil: all rows had room.
    public var next: LogPosition?

    public init(rows: [LoggedRow], next: LogPosition? = nil) {
        self.rows = rows
        self.next = next
    }

    /// Where the page ends, or nil if it reaches the present.
    ///
    /// A page ends between transactions, so that a device only ever stores whole ones. Only a transaction that is
    /// larger than a page is cut.
    func end(from start: LogPosition) -> LogPosition? {
        guard let next else { return nil }
        let between = LogPosition(seq: next.seq, ordinal: 0)
        return between > start ? between : next
    }
}

/// Why a store could not do as it was asked.
public enum StoreError: Error {
    case noAccount
    /// A row's content is not what the server writes.
    case damagedRow(RowKey)
}
