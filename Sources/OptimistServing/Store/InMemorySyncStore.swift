// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire
import Synchronization

/// A store that forgets everything when it goes: for tests and simulations, with every rule of the seam.
///
/// Whatever it is given to do runs at once, on the caller's thread and under the store's lock, so the same calls in the
/// same order give the same rows. Work that asks the store for something else while it runs never returns.
public final class InMemorySyncStore: SyncStore {
    /// All accounts with their rows: what a backup holds.
    public struct Contents: Sendable {
        var accounts: [String: InMemoryAccount] = [:]
        /// Every epoch so far, oldest first.
        var epochs: [String]
    }

    private let state: Mutex<Contents>

    /// - Parameters:
    ///   - accounts: The ids of the accounts that there are.
    ///   - epoch: The name of the first epoch.
    public init(accounts: some Sequence<String>, epoch: String) {
        let empty = accounts.map { ($0, InMemoryAccount()) }
        state = Mutex(Contents(accounts: Dictionary(empty, uniquingKeysWith: { $1 }), epochs: [epoch]))
    }

    /// Everything that is stored. Setting it is restoring a backup; begin an epoch then.
    public var contents: Contents {
        get { state.withLock(\.self) }
        set { state.withLock { $0 = newValue } }
    }

    /// Begins an epoch, as every start of a server does.
    public func begin(epoch: String) { state.withLock { $0.epochs.append(epoch) } }

    public func read<Answer: Sendable>(
        account: String, _ work: @escaping @Sendable (any AccountSnapshot) throws -> Answer
    ) async throws -> Answer {
        try reading(account, work)
    }

    public func write<Answer: Sendable>(
        account: String, _ work: @escaping @Sendable (any AccountTransaction) throws -> Answer
    ) async throws -> Answer {
        try state.withLock { contents in
            // Taken out, so that the rows are changed where they are and not copied.
            guard let former = contents.accounts.removeValue(forKey: account) else { throw StoreError.noAccount }
            let transaction = InMemoryTransaction(former, epochs: contents.epochs)
            do {
                let answer = try work(transaction)
                transaction.account.sweep()
                contents.accounts[account] = transaction.account
                return answer
            } catch {
                transaction.undo()
                contents.accounts[account] = transaction.account
                throw error
            }
        }
    }

    /// Reads without suspending.
    public func reading<Answer: Sendable>(
        _ account: String, _ work: (any AccountSnapshot) throws -> Answer
    ) throws -> Answer {
        try state.withLock { contents in
            guard let found = contents.accounts[account] else { throw StoreError.noAccount }
            return try work(InMemoryTransaction(found, epochs: contents.epochs))
        }
    }
}

/// An account within an open transaction.
private final class InMemoryTransaction: AccountTransaction {
    var account: InMemoryAccount
    private let epochNames: [String]
    private let formerSeq: Int64
    private let formerPushes: [String: Int64]
    private let formerEpochs: [String: Int64]
    /// What the rows were that have been changed, newest change last.
    private var formerRows: [(key: RowKey, row: StoredRow?)] = []

    init(_ account: InMemoryAccount, epochs: [String]) {
        self.account = account
        epochNames = epochs
        formerSeq = account.seq
        formerPushes = account.pushes
        formerEpochs = account.epochs
    }

    var seq: Int64 { account.seq }

    func epochs() -> Epochs { Epochs(names: epochNames, firstSeqs: account.epochs, seq: account.seq) }

    func rows(type: String, ids: [String]) -> [String: StoredRow] {
        guard let rows = account.rows[type] else { return [:] }
        return Dictionary(ids.compactMap { id in rows[id].map { (id, $0) } }, uniquingKeysWith: { $1 })
    }

    func livingRows(type: String, ids: [String]?, limit: Int) -> [LoggedRow] {
        let rows = ids.map { self.rows(type: type, ids: $0) } ?? account.rows[type] ?? [:]
        return Array(rows.lazy.filter(\.value.row.isAlive).prefix(limit).map { $0.value.logged($0.key) })
    }

    func changes(type: String, from place: Place, limit: Int, maxBytes: Int) -> ChangePage {
        var page = ChangePage(rows: [])
        var size = 0
        for (id, stored) in account.changed(type, from: place) {
            let logged = stored.logged(id)
            size += logged.content.count
            if page.rows.count == limit || (!page.rows.isEmpty && size > maxBytes) {
                page.next = logged.place
                break
            }
            page.rows.append(logged)
        }
        return page
    }

    func notePush(_ number: Int64, device: String) -> Bool {
        guard number >= account.pushes[device] ?? 0 else { return false }
        account.pushes[device] = number
        return true
    }

    func append(_ changes: [RowChange]) -> Int64 {
        if let epoch = epochNames.last, account.epochs[epoch] == nil { account.epochs[epoch] = account.seq }
        account.seq += 1
        for (ordinal, change) in changes.enumerated() {
            let stored = StoredRow(row: change.row, seq: seq, ordinal: ordinal, bornSeq: change.bornSeq ?? seq)
            formerRows.append((change.key, account.put(stored, at: change.key)))
        }
        return seq
    }

    /// Takes back everything.
    func undo() {
        for (key, former) in formerRows.reversed() { account.takeBack(key, former: former) }
        account.seq = formerSeq
        account.pushes = formerPushes
        account.epochs = formerEpochs
    }
}

extension StoredRow {
    fileprivate func logged(_ id: String) -> LoggedRow {
        LoggedRow(
            id: id, place: place, bornSeq: bornSeq, generation: row.generation, content: content(id: id))
    }
}
