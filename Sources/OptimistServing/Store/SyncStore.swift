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
}

/// What a transaction sees of one account. Every statement behind it is bound to that account.
public protocol AccountSnapshot {
    /// The account's last transaction.
    var seq: Int64 { get }
    /// The lives of the database as far as the account knows them.
    func epochs() throws -> Epochs
    /// The rows with these ids, deleted ones included. Unknown ids are left out.
    func rows(type: String, ids: [String]) throws -> [String: StoredRow]
    /// The stored JSON of living rows, in no particular order.
    ///
    /// - Parameters:
    ///   - ids: Nil means all.
    ///   - limit: The most rows to return.
    func livingRows(type: String, ids: [String]?, limit: Int) throws -> [LoggedRow]
    /// The rows that changed last at a place or later, in order: at least one if there is any.
    ///
    /// - Parameters:
    ///   - limit: The most rows to return.
    ///   - maxBytes: How large their JSON may be together.
    func changes(type: String, from place: Place, limit: Int, maxBytes: Int) throws -> ChangePage
}

/// A snapshot under the account's lock, to which rows can be written.
public protocol AccountTransaction: AccountSnapshot {
    /// Notes the number of a device's push.
    ///
    /// - Returns: Whether it is at least the highest one seen.
    func notePush(_ number: Int64, device: String) throws -> Bool
    /// Stores rows under the next seq, in this order.
    ///
    /// - Returns: That seq.
    func append(_ changes: [RowChange]) throws -> Int64
}

/// A row on its way into a store.
public struct RowChange: Sendable {
    public var key: RowKey
    public var row: MergeRow
    /// The transaction in which its present life began. Nil: this one.
    public var bornSeq: Int64?
}

/// A row as it stands in the order of changes, its JSON unread.
public struct LoggedRow: Sendable {
    public var id: String
    public var place: Place
    public var bornSeq: Int64
    public var generation: Int
    public var content: [UInt8]

    public init(id: String, place: Place, bornSeq: Int64, generation: Int, content: [UInt8]) {
        self.id = id
        self.place = place
        self.bornSeq = bornSeq
        self.generation = generation
        self.content = content
    }

    var isAlive: Bool { generation % 2 == 1 }
}

/// Some rows in the order of changes.
public struct ChangePage: Sendable {
    public var rows: [LoggedRow]
    /// Where the first row stands for which there was no room. Nil: there is none.
    public var next: Place?

    public init(rows: [LoggedRow], next: Place? = nil) {
        self.rows = rows
        self.next = next
    }

    /// Where the page ends, or nil if it reaches the present.
    ///
    /// A page ends between transactions, so that a device only ever stores whole ones. Only a transaction that is
    /// larger than a page is cut.
    func end(from start: Place) -> Place? {
        guard let next else { return nil }
        let between = Place(seq: next.seq, ordinal: 0)
        return between > start ? between : next
    }
}

/// Why a store could not do as it was asked.
public enum StoreError: Error {
    case noAccount
    /// A row's content is not what the server writes.
    case damagedRow(RowKey)
}
