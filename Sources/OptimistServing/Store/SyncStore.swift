// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

/// The interface between the protocol and a database.
///
/// A store keeps the rows of each account in the order of their transactions. It makes no decisions: `SetEvaluation`
/// works out the effect of a push, after the transaction has read and before it writes.
@_spi(Internals) public protocol SyncStore: Sendable {
    /// The current epoch of the database, as far as this process knows: 1 to 64 ASCII letters and digits.
    ///
    /// A new epoch begins whenever the database may have been restored to an earlier state.
    var epoch: String { get }
    /// Runs `work` on the state of accounts at one moment, outside the event loops.
    ///
    /// - Parameters:
    ///   - accounts: The accounts' ids.
    ///   - reader: The person or operator. Takes turns with other readers.
    ///   - entrances: The reader's tickets for spaces of other members. A read founds no space.
    ///   - work: Receives the accounts by id. An account is missing if it does not exist or the reader may not open
    ///     it. Both cases look the same. Only a former member of a space learns that the access ended.
    /// - Throws: What `work` throws, or the database's error.
    func read<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
        _ work: @escaping @Sendable (OpenAccounts<any AccountSnapshot>) throws -> Answer
    ) async throws -> Answer

    /// Runs `work` under the locks of accounts, and returns when its writes are durable. The writes of all accounts are
    /// one transaction.
    ///
    /// The store locks the accounts in the order of their ids, so that writers of the same accounts never wait for each
    /// other in a circle. If `work` throws, the store discards its writes. Cancelling the caller undoes no writes.
    ///
    /// - Parameters:
    ///   - accounts: The accounts' ids.
    ///   - reader: The person or operator. Takes turns with other readers.
    ///   - entrances: The spaces among the accounts that `work` may found or join. If an account to found does not
    ///     exist, the store makes and opens it, and keeps it if `work` appends to it.
    ///   - work: As for ``read(accounts:as:entering:_:)``.
    /// - Throws: What `work` throws, or the database's error.
    func write<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
        _ work: @escaping @Sendable (OpenAccounts<any AccountTransaction>) throws -> Answer
    ) async throws -> Answer

    /// The states of accounts, as far as the reader may open them. Does not read rows or lock accounts.
    ///
    /// - Throws: The database's error.
    func states(of accounts: Set<String>, as reader: Reader) async throws -> OpenAccounts<AccountState>

    /// Returns at most `limit` account ids in order, after `id` or from the first.
    ///
    /// - Throws: The database's error.
    func accounts(after id: String?, limit: Int) async throws -> [String]
}

@_spi(Internals) extension SyncStore {
    /// Reads the accounts that the reader may open without a ticket.
    ///
    /// - Throws: What `work` throws, or the database's error.
    public func read<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader,
        _ work: @escaping @Sendable (OpenAccounts<any AccountSnapshot>) throws -> Answer
    ) async throws -> Answer {
        try await read(accounts: accounts, as: reader, entering: .none, work)
    }

    /// Writes in accounts that the reader may open without entering a space.
    ///
    /// - Throws: What `work` throws, or the database's error.
    public func write<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader,
        _ work: @escaping @Sendable (OpenAccounts<any AccountTransaction>) throws -> Answer
    ) async throws -> Answer {
        try await write(accounts: accounts, as: reader, entering: .none, work)
    }

    /// Runs `work` on one snapshot of an account, outside the event loops.
    ///
    /// - Throws: What `work` throws, ``StoreError/noAccount``, or the database's error.
    public func read<Answer: Sendable>(
        account: String, as reader: Reader, _ work: @escaping @Sendable (any AccountSnapshot) throws -> Answer
    ) async throws -> Answer {
        try await read(accounts: [account], as: reader) { accounts in
            guard let found = accounts.open[account] else { throw StoreError.noAccount }
            return try work(found)
        }
    }

    /// Runs `work` under an account's lock, and returns when its writes are durable.
    ///
    /// - Throws: What `work` throws, ``StoreError/noAccount``, or the database's error.
    public func write<Answer: Sendable>(
        account: String, as reader: Reader, _ work: @escaping @Sendable (any AccountTransaction) throws -> Answer
    ) async throws -> Answer {
        try await write(accounts: [account], as: reader) { accounts in
            guard let found = accounts.open[account] else { throw StoreError.noAccount }
            return try work(found)
        }
    }
}

/// The state of an account, and the reader's right to it.
@_spi(Internals) public struct AccountState: Hashable, Sendable {
    public var state: SyncState
    public var access: Access

    public init(state: SyncState, access: Access) {
        self.state = state
        self.access = access
    }
}

/// A consistent view of one account. Every database statement of the view is bound to that account. Only one thread at
/// a time uses the view.
///
/// Every function throws the database's error, ``StoreError/damagedRow(_:)``, and errors of ``meter``.
@_spi(Internals) public protocol AccountSnapshot {
    /// Counts the work of the request that opened the snapshot. A store steps the meter for each row that it reads or
    /// writes, and rethrows its error. Nil: the work is not counted.
    var meter: WorkMeter? { get nonmutating set }
    /// The account's id.
    var account: String { get }
    var kind: AccountKind { get }
    /// The reader's right to the account at the snapshot's moment.
    var access: Access { get }
    /// The persons who are members of the account, if it is a space, in the order of their ids.
    func members() throws -> [Membership]
    /// How many living rows the account has.
    var rowCount: Int { get }
    /// The number of the account's last transaction, or zero before the first.
    var seq: Int64 { get }
    /// The last transaction whose tombstones the store has purged. No device can continue from an earlier state.
    var floor: Int64 { get }
    /// The current epoch of the database.
    var epoch: String { get }
    /// The last transaction reported to the app: see ``AppliedTransaction``. Zero before the first.
    func reportedSeq() throws -> Int64
    func hasExpired(_ expiry: Expiry) throws -> Bool
    func epochs() throws -> Epochs
    /// The rows with these ids, including deleted rows. Unknown ids are left out.
    func rows(type: String, ids: [String]) throws -> [String: StoredRow]
    /// The sorted ids of the living rows with these keys in an index, by key. Keys without rows are left out.
    func holders(type: String, index: String, keys: [IndexKey]) throws -> [IndexKey: [String]]
    /// The stored JSON of the living rows among these ids, in no particular order.
    ///
    /// The first row is always included. Further rows are left out if the total would exceed `maxBytes`.
    func livingRows(type: String, ids: [String], maxBytes: Int) throws -> LivingRows
    /// The stored JSON of living rows after `id`, or from the first row, in the order of their ids.
    ///
    /// Stops at `limit` rows or `maxBytes` in total, but returns at least one row if any is left.
    func livingRows(type: String, after id: String?, limit: Int, maxBytes: Int) throws -> LivingRows
    func livingCount(type: String) throws -> Int
    /// The rows that last changed at `place` or later, in order.
    ///
    /// Stops at `limit` rows or `maxBytes` in total, but returns at least one row if there is any.
    func changes(type: String, from place: LogPosition, limit: Int, maxBytes: Int) throws -> ChangePage
}

/// A snapshot under the account's lock that can also write rows.
@_spi(Internals) public protocol AccountTransaction: AccountSnapshot {
    /// Records the number of a push of the reader's device, and the push's day, counted as in ``Expiry``. Numbers are
    /// counted for each person, so that a member cannot use up the numbers of another member's device.
    ///
    /// - Returns: False if the device has already sent a higher number.
    func notePush(_ number: Int64, device: String, day: Int) throws -> Bool
    /// Records that all transactions up to `seq` were reported to the app. A lower number than before has no effect.
    func noteReported(_ seq: Int64) throws
    /// Stores rows, their index entries and their memberships under the next seq, in the given order. Each row occurs
    /// once. Returns the seq.
    ///
    /// The store uses `day` later, to derive when a row was deleted.
    func append(_ changes: [RowChange], day: Int) throws -> Int64
    /// Adds the events that are ``Swift/Array/new(to:)`` the audit of the space, under the present seq, and returns them.
    /// Call it after ``append(_:day:)``.
    func note(_ events: [SpaceEvent]) throws -> [SpaceEvent]
    /// Purges at most `limit` expired tombstones, oldest first, and raises ``AccountSnapshot/floor`` to the transaction
    /// of the last purged tombstone. Also removes expired events, and those beyond ``SpaceEvent/limit``. Returns whether
    /// expired tombstones remain.
    func forget(_ expiry: Expiry, limit: Int) throws -> Bool
}

@_spi(Internals) extension AccountTransaction {
    /// Whether the account was made for a space that has not been founded.
    public var isUnfounded: Bool { access == .founding && seq == 0 }
}

@_spi(Internals) public struct RowChange: Sendable {
    public var key: RowKey
    public var row: MergeRow
    public var memory: RowMemory
    /// The transaction that began the row's current life. Nil: this transaction.
    public var bornSeq: Int64?
    public var droppedEntries: Set<IndexEntry>
    public var addedEntries: Set<IndexEntry>
    /// How many more living rows the account has because of this row: 1, 0 or -1.
    public var growth = 0
    /// For a member row: the change of the index of members. Nil: the index does not change.
    public var membership: MembershipChange?
}

/// A row in the order of changes, with its JSON unparsed.
@_spi(Internals) public struct LoggedRow: Sendable {
    public var id: String
    public var place: LogPosition
    /// The transaction that began the row's current life, or its last life if the row is deleted.
    public var bornSeq: Int64
    /// Odd while the row is alive.
    public var generation: Int
    /// The row's JSON, from ``StoredRow/content(id:)``.
    public var content: [UInt8]
    /// The value of ``StoredRow/hidden``. Nil for a deleted row, because no page needs the value.
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

    public var byteCount: Int { content.count + (hidden?.count ?? 0) }
}

/// Some living rows, up to a limit of rows and bytes.
@_spi(Internals) public struct LivingRows: Sendable {
    public var rows: [LoggedRow] = []
    public var hasMore = false
    private var room: Int
    private let limit: Int

    /// The first row always fits.
    public init(limit: Int = .max, maxBytes: Int) {
        self.limit = limit
        room = maxBytes
    }

    /// Adds a row if it fits, and returns whether it did.
    public mutating func add(_ row: LoggedRow) -> Bool {
        room -= row.byteCount
        hasMore = rows.count == limit || (room < 0 && !rows.isEmpty)
        if !hasMore { rows.append(row) }
        return !hasMore
    }
}

@_spi(Internals) public struct ChangePage: Sendable {
    public var rows: [LoggedRow]
    /// The position of the first row that did not fit. Nil: the page is complete.
    public var next: LogPosition?

    public init(rows: [LoggedRow], next: LogPosition? = nil) {
        self.rows = rows
        self.next = next
    }

    /// The position where the page ends, or nil if the page is complete.
    ///
    /// A page ends between transactions, so that a device stores complete transactions. Only a transaction larger than
    /// a page is split.
    func end(from start: LogPosition) -> LogPosition? {
        guard let next else { return nil }
        let between = LogPosition(seq: next.seq, ordinal: 0)
        return between > start ? between : next
    }
}

@_spi(Internals) public enum StoreError: Error {
    /// The account does not exist, was deleted, or may not be opened by this reader.
    case noAccount
    /// The row's stored content is malformed.
    case damagedRow(RowKey)
}
