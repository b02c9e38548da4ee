// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// The interface between the protocol and a database.
///
/// A store keeps the rows of each account in the order of their transactions. It decides nothing: between a
/// transaction's reads and its writes, the value `SetEvaluation` works out what a push does.
@_spi(Internals) public protocol SyncStore: Sendable {
    /// The current epoch of the database, as far as this process knows: 1 to 64 ASCII letters and digits. A new one begins
    /// whenever the database may have gone back.
    var epoch: String { get }
    /// Runs `work` on one snapshot of an account, outside the event loops.
    ///
    /// - Throws: What `work` throws, ``StoreError/noAccount``, or the database's error.
    func read<Answer: Sendable>(
        account: String, _ work: @escaping @Sendable (any AccountSnapshot) throws -> Answer
    ) async throws -> Answer

    /// Runs `work` under the account's lock, and returns once its writes are durable.
    ///
    /// If `work` throws, the store keeps nothing that it wrote. Cancelling the caller does not undo its writes.
    ///
    /// - Throws: What `work` throws, ``StoreError/noAccount``, or the database's error.
    func write<Answer: Sendable>(
        account: String, _ work: @escaping @Sendable (any AccountTransaction) throws -> Answer
    ) async throws -> Answer

    /// Returns the ids of some accounts, in order.
    ///
    /// - Parameters:
    ///   - id: The account after which the ids begin. Nil: they begin with the first account.
    ///   - limit: The most ids to return.
    /// - Throws: The database's error.
    func accounts(after id: String?, limit: Int) async throws -> [String]
}

/// What a transaction sees of one account. Every statement behind it is bound to that account. Only one thread at a
/// time uses it.
///
/// Every function throws the database's error, ``StoreError/damagedRow(_:)``, and what ``meter`` throws.
@_spi(Internals) public protocol AccountSnapshot {
    /// Counts the work of the request for which the snapshot was opened. A store steps the meter for each row that it
    /// reads or writes, and rethrows its error. Nil: the work is not counted.
    var meter: WorkMeter? { get nonmutating set }
    /// The number of the account's last transaction. Zero: it has none.
    var seq: Int64 { get }
    /// The last transaction whose deleted rows the store has forgotten. No device can continue from a state before it.
    var floor: Int64 { get }
    /// The current epoch of the database.
    var epoch: String { get }
    /// The last transaction that the app was told of: see ``AppliedTransaction``. Zero: it was told of none.
    ///
    /// - Throws: The database's error.
    func reportedSeq() throws -> Int64
    /// Whether the store has anything to forget.
    ///
    /// - Throws: The database's error.
    func hasExpired(_ expiry: Expiry) throws -> Bool
    /// The epochs of the database, with this account's position in each.
    ///
    /// - Throws: The database's error.
    func epochs() throws -> Epochs
    /// The rows with these ids, deleted ones included. Unknown ids are left out.
    ///
    /// - Throws: The database's error, ``StoreError/damagedRow(_:)``, or what the meter throws.
    func rows(type: String, ids: [String]) throws -> [String: StoredRow]
    /// The sorted ids of the living rows of a type that have these keys in an index, by key. Keys that no row has are
    /// left out.
    ///
    /// - Parameters:
    ///   - type: The type of the rows.
    ///   - index: A name that ``RowChange`` uses in its entries.
    ///   - keys: The keys to look up.
    /// - Throws: The database's error, or what the meter throws.
    func holders(type: String, index: String, keys: [IndexKey]) throws -> [IndexKey: [String]]
    /// The stored JSON of the living rows among these ids, in no particular order.
    ///
    /// - Parameters:
    ///   - type: The type of the rows.
    ///   - ids: The rows. Unknown ids are left out.
    ///   - maxBytes: The most bytes of all rows together. Further rows are left out, but at least one row is returned.
    /// - Throws: The database's error, or what the meter throws.
    func livingRows(type: String, ids: [String], maxBytes: Int) throws -> LivingRows
    /// The stored JSON of living rows in the order of their ids. Returns at least one row if there is any.
    ///
    /// - Parameters:
    ///   - type: The type of the rows.
    ///   - id: The id after which the rows begin. Nil: the first row.
    ///   - limit: The most rows to return.
    ///   - maxBytes: How many bytes they may have together.
    /// - Throws: The database's error, or what the meter throws.
    func livingRows(type: String, after id: String?, limit: Int, maxBytes: Int) throws -> LivingRows
    /// The number of living rows of a type.
    ///
    /// - Throws: The database's error.
    func livingCount(type: String) throws -> Int
    /// The rows whose last change is at a position or later, in order. Returns at least one row if there is any.
    ///
    /// - Parameters:
    ///   - type: The type of the rows.
    ///   - place: The position of the first row.
    ///   - limit: The most rows to return.
    ///   - maxBytes: How many bytes they may have together.
    /// - Throws: The database's error, or what the meter throws.
    func changes(type: String, from place: LogPosition, limit: Int, maxBytes: Int) throws -> ChangePage
}

/// A snapshot under the account's lock, with functions that write rows.
@_spi(Internals) public protocol AccountTransaction: AccountSnapshot {
    /// Notes the number of a device's push.
    ///
    /// - Parameters:
    ///   - number: The number of the push.
    ///   - device: The device's id.
    ///   - day: The current day, as ``Expiry`` counts days.
    /// - Returns: Whether the number is at least the highest one seen from the device.
    /// - Throws: The database's error.
    func notePush(_ number: Int64, device: String, day: Int) throws -> Bool
    /// Notes that the app was told of all transactions up to one. An earlier one than was noted changes nothing.
    ///
    /// - Throws: The database's error.
    func noteReported(_ seq: Int64) throws
    /// Stores rows under the next seq, in the given order, with their index entries.
    ///
    /// - Parameters:
    ///   - changes: The rows, each once.
    ///   - day: The current day. It tells later on which day a row was deleted.
    /// - Returns: The seq of the rows.
    /// - Throws: The database's error, or what the meter throws.
    func append(_ changes: [RowChange], day: Int) throws -> Int64
    /// Forgets deleted rows, oldest first, and raises ``AccountSnapshot/floor`` to the transaction of the last of them.
    ///
    /// - Parameters:
    ///   - expiry: The days before which the store forgets.
    ///   - limit: The most rows to forget.
    /// - Returns: Whether there are more rows to forget.
    /// - Throws: The database's error.
    func forget(_ expiry: Expiry, limit: Int) throws -> Bool
}

/// A row that a transaction writes.
@_spi(Internals) public struct RowChange: Sendable {
    /// The row.
    public var key: RowKey
    /// The row as merging leaves it.
    public var row: MergeRow
    /// What only the server remembers about the row.
    public var memory: RowMemory
    /// The transaction in which the row's current life began. Nil: this transaction.
    public var bornSeq: Int64?
    /// The index entries that the row no longer has.
    public var droppedEntries: Set<IndexEntry>
    /// The index entries that the row has from now on.
    public var addedEntries: Set<IndexEntry>
}

/// A row in the order of changes, with its JSON unparsed.
@_spi(Internals) public struct LoggedRow: Sendable {
    /// The row's id.
    public var id: String
    /// The row's position in the order of changes.
    public var place: LogPosition
    /// The transaction in which the row's current life began, or its last life if the row is deleted.
    public var bornSeq: Int64
    /// The row's generation. Odd: the row is alive.
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

/// Some living rows, up to a limit of rows and bytes.
@_spi(Internals) public struct LivingRows: Sendable {
    /// The rows that fit.
    public var rows: [LoggedRow] = []
    /// Whether there are further rows, which did not fit.
    public var hasMore = false
    private var room: Int
    private let limit: Int

    /// Makes an empty list.
    ///
    /// - Parameters:
    ///   - limit: The most rows. Default: any number.
    ///   - maxBytes: The most bytes of all rows together. The first row always fits.
    public init(limit: Int = .max, maxBytes: Int) {
        self.limit = limit
        room = maxBytes
    }

    /// Adds a row if it fits.
    ///
    /// - Returns: Whether the row fitted.
    public mutating func add(_ row: LoggedRow) -> Bool {
        room -= row.byteCount
        hasMore = rows.count == limit || (room < 0 && !rows.isEmpty)
        if !hasMore { rows.append(row) }
        return !hasMore
    }
}

/// Some rows in the order of changes.
@_spi(Internals) public struct ChangePage: Sendable {
    /// The rows, in the order of changes.
    public var rows: [LoggedRow]
    /// The position of the first row that did not fit. Nil: all rows fitted.
    public var next: LogPosition?

    /// Makes a page, by default one with every row up to now.
    public init(rows: [LoggedRow], next: LogPosition? = nil) {
        self.rows = rows
        self.next = next
    }

    /// The position where the page ends, or nil if the page has every row up to now.
    ///
    /// A page ends between transactions, so that a device only stores whole ones. Only a transaction that is larger
    /// than a page is split.
    func end(from start: LogPosition) -> LogPosition? {
        guard let next else { return nil }
        let between = LogPosition(seq: next.seq, ordinal: 0)
        return between > start ? between : next
    }
}

/// Why a store could not carry out a call.
@_spi(Internals) public enum StoreError: Error {
    /// The account does not exist, or was deleted.
    case noAccount
    /// The row's stored content is not in the form that the server writes.
    case damagedRow(RowKey)
}
