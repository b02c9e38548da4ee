// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
@_spi(Internals) public import OptimistWire

/// An in-memory store for tests and simulations that follows every rule of ``SyncStore``. Its rows are lost when it is
/// deallocated.
///
/// Each call runs its work synchronously on the caller's thread, under the store's lock, so the same calls in the same
/// order produce the same rows. The lock is not recursive: work must not call the store again.
@_spi(Internals) public final class InMemorySyncStore: SyncStore {
    /// All accounts with their rows, like a backup.
    public struct Contents: Sendable {
        var accounts: [String: InMemoryAccount] = [:]
        var epochs: [String]
        /// The schema version whose names the rows use. Nil: the version of the first accepted schema.
        var schemaVersion: Int?
    }

    private let state: Mutex<Contents>

    public init(accounts: some Sequence<String>, epoch: String) {
        let empty = accounts.map { ($0, InMemoryAccount()) }
        state = Mutex(Contents(accounts: Dictionary(empty, uniquingKeysWith: { $1 }), epochs: [epoch]))
    }

    /// Adds an empty account, unless the store has the account.
    public func add(_ account: String) {
        state.withLock { $0.accounts[account] = $0.accounts[account] ?? InMemoryAccount() }
    }

    /// Everything in the store. Setting it restores a backup; call ``begin(epoch:)`` afterwards.
    public var contents: Contents {
        get { state.withLock(\.self) }
        set { state.withLock { $0 = newValue } }
    }

    public var epoch: String { state.withLock { $0.epochs.last ?? "" } }

    /// Begins an epoch, as a server does each time it starts.
    public func begin(epoch: String) { state.withLock { $0.epochs.append(epoch) } }

    /// Converts the rows to the names and indexes of a schema, as a server does when it starts with that schema.
    public func accept(_ schema: Schema) {
        state.withLock { contents in
            let vocabulary = Vocabulary(schema, version: contents.schemaVersion)
            contents.accounts = contents.accounts.mapValues { $0.following(schema, from: vocabulary) }
            contents.schemaVersion = schema.version
        }
    }

    public func read<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
        _ work: @escaping @Sendable (OpenAccounts<any AccountSnapshot>) throws -> Answer
    ) async throws -> Answer {
        try reading(accounts, as: reader, entering: entrances, work)
    }

    public func write<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
        _ work: @escaping @Sendable (OpenAccounts<any AccountTransaction>) throws -> Answer
    ) async throws -> Answer {
        try state.withLock { contents in
            let opening = try contents.opening(accounts, as: reader, entering: entrances)
            // Remove the accounts from the dictionary so that their rows change in place instead of being copied.
            for id in opening.open.keys { contents.accounts[id] = nil }
            defer {
                for (id, transaction) in opening.open where !transaction.isUnfounded {
                    contents.accounts[id] = transaction.contents
                }
            }
            do {
                let answer = try work(opening.mapped { $0 })
                for transaction in opening.open.values { transaction.contents.sweep() }
                return answer
            } catch {
                for transaction in opening.open.values { transaction.undo() }
                throw error
            }
        }
    }

    public func states(of asked: Set<String>, as reader: Reader) async throws -> OpenAccounts<AccountState> {
        try state.withLock { contents in
            try contents.opening(asked, as: reader, entering: .none).mapped { account in
                AccountState(state: SyncState(epoch: account.epoch, seq: account.seq), access: account.access)
            }
        }
    }

    public func accounts(after id: String?, limit: Int) async throws -> [String] {
        state.withLock { Array($0.accounts.keys.filter { $0 > id ?? "" }.sorted().prefix(limit)) }
    }

    /// Reads synchronously on the caller's thread.
    ///
    /// - Throws: ``StoreError/noAccount``, or what `work` throws.
    public func reading<Answer: Sendable>(
        _ account: String, as reader: Reader, _ work: (any AccountSnapshot) throws -> Answer
    ) throws -> Answer {
        try reading([account], as: reader) { accounts in
            guard let found = accounts.open[account] else { throw StoreError.noAccount }
            return try work(found)
        }
    }

    private func reading<Answer: Sendable>(
        _ accounts: Set<String>, as reader: Reader, entering entrances: Entrances = .none,
        _ work: (OpenAccounts<any AccountSnapshot>) throws -> Answer
    ) throws -> Answer {
        try state.withLock { contents in
            try work(contents.opening(accounts, as: reader, entering: entrances).mapped { $0 })
        }
    }
}

extension InMemorySyncStore.Contents {
    fileprivate func opening(
        _ asked: Set<String>, as reader: Reader, entering entrances: Entrances
    ) throws -> OpenAccounts<InMemoryTransaction> {
        var opening = OpenAccounts<InMemoryTransaction>()
        if !entrances.isEmpty { opening.spaces = reader.person.map(spaces) }
        for id in asked {
            func open(_ account: InMemoryAccount, _ access: Access) -> InMemoryTransaction {
                InMemoryTransaction(account, of: id, as: reader, access, epochs: epochs)
            }
            let membership = reader.person.flatMap { accounts[id]?.notes.members[$0] }
            if let account = accounts[id] {
                opening.ended[id] = membership?.end
                let access = try entrances.access(
                    of: reader, to: id, membership, account.notes.kind, open(account, .operator))
                if let access { opening.open[id] = open(account, access) }
            } else if entrances.founding.contains(id) {
                var account = InMemoryAccount()
                account.notes.kind = entrances.kind
                opening.open[id] = open(account, .founding)
            }
        }
        return opening
    }

    private func spaces(of person: String) -> SpaceCount {
        let memberships = accounts.values.compactMap { $0.notes.members[person] }.filter { $0.end == nil }
        return SpaceCount(all: memberships.count, owned: memberships.count { $0.role == .owner })
    }
}

final class InMemoryTransaction: AccountTransaction {
    let account: String
    private(set) var access: Access
    var contents: InMemoryAccount
    var meter: WorkMeter?
    private let reader: Reader
    private let formerAccess: Access
    private let epochNames: [String]
    /// The account's notes before the transaction. `formerRows` has the previous versions of the rows.
    private let former: AccountNotes
    private var formerRows: [(change: RowChange, row: StoredRow?)] = []
    private var forgotten: [(key: RowKey, row: StoredRow)] = []

    init(_ contents: InMemoryAccount, of account: String, as reader: Reader, _ access: Access, epochs: [String]) {
        self.account = account
        self.access = access
        self.reader = reader
        formerAccess = access
        self.contents = contents
        epochNames = epochs
        former = contents.notes
    }

    var kind: AccountKind { contents.notes.kind }
    var rowCount: Int { contents.notes.rowCount }
    var seq: Int64 { contents.notes.seq }
    var floor: Int64 { contents.notes.floor }
    var epoch: String { epochNames.last ?? "" }

    func members() -> [Membership] {
        contents.notes.members.values.filter { $0.end == nil }.sorted { $0.person < $1.person }
    }

    func epochs() -> Epochs { Epochs(names: epochNames, firstSeqs: contents.notes.epochs, seq: seq) }

    func rows(type: String, ids: [String]) -> [String: StoredRow] {
        guard let rows = contents.rows[type] else { return [:] }
        return Dictionary(ids.compactMap { id in rows[id].map { (id, $0) } }, uniquingKeysWith: { $1 })
    }

    func holders(type: String, index: String, keys: [IndexKey]) -> [IndexKey: [String]] {
        let found = keys.map { ($0, contents.holders(type, IndexEntry(index: index, key: $0))) }
        return Dictionary(found.filter { !$0.1.isEmpty }, uniquingKeysWith: { $1 })
    }

    func livingRows(type: String, ids: [String], maxBytes: Int) -> LivingRows {
        var living = LivingRows(maxBytes: maxBytes)
        for (id, stored) in rows(type: type, ids: ids) where stored.row.isAlive {
            guard living.add(stored.logged(id)) else { break }
        }
        return living
    }

    func livingRows(type: String, after id: String?, limit: Int, maxBytes: Int) -> LivingRows {
        var living = LivingRows(limit: limit, maxBytes: maxBytes)
        let rows = contents.rows[type] ?? [:]
        for (id, stored) in rows.filter({ $0.value.row.isAlive && $0.key > id ?? "" }).sorted(by: { $0.key < $1.key }) {
            guard living.add(stored.logged(id)) else { break }
        }
        return living
    }

    func livingCount(type: String) -> Int { contents.rows[type]?.count { $0.value.row.isAlive } ?? 0 }

    func changes(type: String, from place: LogPosition, limit: Int, maxBytes: Int) -> ChangePage {
        var page = ChangePage(rows: [])
        var size = 0
        for (id, stored) in contents.changed(type, from: place) {
            let logged = stored.logged(id)
            size += logged.byteCount
            if page.rows.count == limit || (!page.rows.isEmpty && size > maxBytes) {
                page.next = logged.place
                break
            }
            page.rows.append(logged)
        }
        return page
    }

    func reportedSeq() -> Int64 { contents.notes.reported }

    func noteReported(_ seq: Int64) { contents.notes.reported = max(contents.notes.reported, seq) }

    func notePush(_ number: Int64, device: String, day: Int) -> Bool {
        let device = AccountNotes.Device(person: reader.person ?? "", id: device)
        guard number >= contents.notes.pushes[device]?.number ?? 0 else { return false }
        contents.notes.pushes[device] = AccountNotes.LastPush(number: number, day: day)
        return true
    }

    func hasExpired(_ expiry: Expiry) -> Bool {
        contents.notes.pushes.contains { $0.value.day < expiry.pushedBefore } || contents.notes.hasExpiredEvents(expiry)
            || !contents.deleted(upTo: contents.notes.seq(before: expiry.deletedBefore)).isEmpty
    }

    func forget(_ expiry: Expiry, limit: Int) -> Bool {
        contents.notes.pushes = contents.notes.pushes.filter { $0.value.day >= expiry.pushedBefore }
        let expired = contents.deleted(upTo: contents.notes.seq(before: expiry.deletedBefore))
        for (key, row) in expired.prefix(limit) {
            contents.forget(key)
            forgotten.append((key, row))
            contents.notes.floor = row.seq
        }
        contents.notes.forgetEvents(expiry)
        contents.notes.forgetDays(before: expiry.deletedBefore)
        return expired.count > limit
    }

    func append(_ changes: [RowChange], day: Int) throws -> Int64 {
        contents.notes.begin(day: day)
        if let epoch = epochNames.last, contents.notes.epochs[epoch] == nil { contents.notes.epochs[epoch] = seq }
        contents.notes.seq += 1
        for (ordinal, change) in changes.enumerated() {
            try meter?.step()
            formerRows.append((change, contents.put(change, ordinal: ordinal)))
            contents.notes.rowCount += change.growth
            if let membership = change.membership { note(membership) }
        }
        return seq
    }

    func note(_ events: [SpaceEvent]) -> [SpaceEvent] {
        let new = events.new(to: contents.notes.events.suffix(SpaceEvent.compared).map(\.event))
        contents.notes.events += new.map { (seq, $0) }
        return new
    }

    private func note(_ change: MembershipChange) {
        contents.notes.members[change.person] = change.applied(
            to: contents.notes.members[change.person], seq: seq)
        access.follow(change, as: reader, seq: seq)
    }

    func undo() {
        for (change, former) in formerRows.reversed() { contents.takeBack(change, former: former) }
        for (key, row) in forgotten { contents.remember(row, at: key) }
        contents.notes = former
        access = formerAccess
    }
}

extension StoredRow {
    fileprivate func logged(_ id: String) -> LoggedRow {
        LoggedRow(
            id: id, place: place, bornSeq: bornSeq, generation: row.generation, content: content(id: id),
            hidden: row.isAlive ? hidden : nil)
    }
}
