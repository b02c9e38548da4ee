// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// The one seam between the protocol and a database.
///
/// A store keeps rows in the order of their transactions, account by account. It decides nothing: `SetEvaluation`, a
/// value, works out what a push means, between what a transaction read and what it writes.
public protocol SyncStore: Sendable {
    /// Runs `work` on one snapshot of an account, off the event loops.
    ///
    /// - Throws: What `work` throws, ``StoreError/noAccount``, or the database's error.
    func read<Answer: Sendable>(
        account: String, _ work: @escaping @Sendable (any AccountSnapshot) throws -> Answer
    ) async throws -> Answer

    /// Runs `work` under the account's lock, and returns once what it wrote is durable.
    ///
    /// If `work` throws, nothing that it wrote is kept. Cancelling the caller does not undo it.
    ///
    /// - Throws: What `work` throws, ``StoreError/noAccount``, or the database's error.
    func write<Answer: Sendable>(
        account: String, _ work: @escaping @Sendable (any AccountTransaction) throws -> Answer
    ) async throws -> Answer

    /// The ids of some accounts, in order.
    ///
    /// - Parameters:
    ///   - id: The account after which they begin. Nil: the first one.
    ///   - limit: The most ids to return.
    /// - Throws: The database's error.
    func accounts(after id: String?, limit: Int) async throws -> [String]
}

/// What a transaction sees of one account. Every statement behind it is bound to that account, and it is used by one
/// thread at a time.
///
/// Every function throws the database's error, ``StoreError/damagedRow(_:)``, and what ``meter`` throws.
public protocol AccountSnapshot {
    /// Counts the work that is done for the request which the snapshot was opened for. A store steps it for each row
    /// that it reads or writes, and rethrows its error. Nil: the work is not counted.
    var meter: WorkMeter? { get nonmutating set }
    /// The number of the account's last transaction. Zero: it has none.
    var seq: Int64 { get }
    /// The last transaction whose deleted rows are forgotten. No device can go on from a state before it.
    var floor: Int64 { get }
    /// Whether there is anything to forget.
    ///
    /// - Throws: The database's error.
    func hasExpired(_ expiry: Expiry) throws -> Bool
    /// The lives of the database as far as the account knows them.
    ///
    /// - Throws: The database's error.
    func epochs() throws -> Epochs
    /// The rows with these ids, deleted ones included. Unknown ids are left out.
    ///
    /// - Throws: The database's error, ``StoreError/damagedRow(_:)``, or what the meter throws.
    func rows(type: String, ids: [String]) throws -> [String: StoredRow]
    /// The living rows of a type with these keys in an index: their ids, sorted, by key. Keys that no row has are left
    /// out.
    ///
    /// - Parameters:
    ///   - type: The type of the rows.
    ///   - index: A name that ``RowChange`` uses in its entries.
    ///   - keys: What the rows are found by.
    /// - Throws: The database's error, or what the meter throws.
    func holders(type: String, index: String, keys: [IndexKey]) throws -> [IndexKey: [String]]
    /// The stored JSON of the living rows among these, in no particular order.
    ///
    /// - Parameters:
    ///   - type: The type of the rows.
    ///   - ids: The rows. Unknown ids are left out.
    ///   - maxBytes: How many bytes they may have together. The rest is left out, but at least one row is returned.
    /// - Throws: The database's error, or what the meter throws.
    func livingRows(type: String, ids: [String], maxBytes: Int) throws -> LivingRows
    /// The stored JSON of living rows in the order of their ids: at least one if there is any.
    ///
    /// - Parameters:
    ///   - type: The type of the rows.
    ///   - id: The id after which the rows begin. Nil: the first row.
    ///   - limit: The most rows to return.
    ///   - maxBytes: How many bytes they may have together.
    /// - Throws: The database's error, or what the meter throws.
    func livingRows(type: String, after id: String?, limit: Int, maxBytes: Int) throws -> LivingRows
    /// How many living rows a type has.
    ///
    /// - Throws: The database's error.
    func livingCount(type: String) throws -> Int
    /// The rows that changed last at a place or later, in order: at least one if there is any.
    ///
    /// - Parameters:
    ///   - type: The type of the rows.
    ///   - place: Where they begin.
    ///   - limit: The most rows to return.
    ///   - maxBytes: How many bytes they may have together.
    /// - Throws: The database's error, or what the meter throws.
    func changes(type: String, from place: LogPosition, limit: Int, maxBytes: Int) throws -> ChangePage
}

/// A snapshot under the account's lock, to which rows can be written.
public protocol AccountTransaction: AccountSnapshot {
    /// Notes the number of a device's push.
    ///
    /// - Parameters:
    ///   - number: The number of the push.
    ///   - device: The device's id.
    ///   - day: The present day, as ``Expiry`` counts them.
    /// - Returns: Whether the number is at least the highest one seen.
    /// - Throws: The database's error.
    func notePush(_ number: Int64, device: String, day: Int) throws -> Bool
    /// Stores rows under the next seq, in this order, with their index entries.
    ///
    /// - Parameters:
    ///   - changes: The rows, each once.
    ///   - day: The present day. It tells later what was deleted when.
    /// - Returns: That seq.
    /// - Throws: The database's error, or what the meter throws.
    func append(_ changes: [RowChange], day: Int) throws -> Int64
    /// Forgets deleted rows, the oldest first, and raises the floor to the last of them.
    ///
    /// - Parameters:
    ///   - expiry: The days before which it forgets.
    ///   - limit: The most rows to forget.
    /// - Returns: Whether there is more.
    /// - Throws: The database's error.
    func forget(_ expiry: Expiry, limit: Int) throws -> Bool
}

/// A row that a transaction writes.
public struct RowChange: Sendable {
    /// The row.
    public var key: RowKey
    /// The row as merging leaves it.
    public var row: MergeRow
    /// What only the server remembers of it.
    public var memory: RowMemory
    /// The transaction in which its present life began. Nil: this one.
    public var bornSeq: Int64?
    /// The entries under which the row is no longer found.
    public var droppedEntries: Set<IndexEntry>
    /// The entries under which the row is found from now on.
    public var addedEntries: Set<IndexEntry>
}

/// A row as it stands in the order of changes, with its JSON unread.
public struct LoggedRow: Sendable {
    /// The row's id.
    public var id: String
    /// Where it stands.
    public var place: LogPosition
    /// The transaction in which its present life began, or the last one if it is deleted.
    public var bornSeq: Int64
    /// Which life it is in. Odd: alive.
    public var generation: Int
    /// The row as JSON, as ``StoredRow/content(id:)`` gives it.
    public var content: [UInt8]
    /// The value of ``StoredRow/hidden``. Nil for a deleted row: no page shows it.
    public var hidden: [UInt8]?

    /// Makes a row from its parts.
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

    /// The size of the JSON in bytes.
    public var byteCount: Int { content.count + (hidden?.count ?? 0) }
}

/// Some living rows, as many as there is room for.
public struct LivingRows: Sendable {
    /// The rows that found room.
    public var rows: [LoggedRow] = []
    /// Whether there are others, which found no room.
    public var hasMore = false
    private var room: Int
    private let limit: Int

    /// Makes an empty list.
    ///
    /// - Parameters:
    ///   - limit: The most rows. Default: any number.
    ///   - maxBytes: The most bytes of all rows together. One row always finds room.
    public init(limit: Int = .max, maxBytes: Int) {
        self.limit = limit
        room = maxBytes
    }

    /// Adds a row, if there is room for it.
    ///
    /// - Returns: Whether there was room.
    public mutating func add(_ row: LoggedRow) -> Bool {
        room -= row.byteCount
        hasMore = rows.count == limit || (room < 0 && !rows.isEmpty)
        if !hasMore { rows.append(row) }
        return !hasMore
    }
}

/// Some rows in the order of changes.
public struct ChangePage: Sendable {
    /// The rows, in the order of changes.
    public var rows: [LoggedRow]
    /// The place of the first row that found no room. Nil: there is none.
    public var next: LogPosition?

    /// Makes a page, by default one that reaches the present.
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

/// Why a store could not do what it was asked.
public enum StoreError: Error {
    /// There is no such account, or it was deleted.
    case noAccount
    /// The row's content is not what the server writes.
    case damagedRow(RowKey)
}
