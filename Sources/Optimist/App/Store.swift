// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB
public import Logging
public import OptimistCore
@_spi(Internals) public import OptimistWire

/// An app's data on this device: its own SQLite tables, and beside them the changes that are not yet on the server.
///
/// A write goes to the app's tables and to the outbox in one transaction, and returns as soon as that is durable. A write never
/// waits for the network, and a read never uses it. A ``SyncEngine`` sends pending changes when it can.
///
/// Safe to use from any thread and task. Several processes may open one file, each through its own `Store`. What one process
/// commits shows at once in the live queries of the others. The process whose ``SyncEngine`` has its turn sends it.
public final class Store: Sendable {
    /// Which failures a finished write survives.
    public enum Durability: Sendable {
        /// A write that returned survives the end of the process and a power loss. The default.
        case full
        /// A write that returned survives the end of the process; a power loss may take the last ones. Faster.
        case normal
    }

    let pool: DatabasePool
    let layouts: [TableLayout]
    let dependencies: Dependencies
    let logger: Logger
    let network = NetworkPolicy()
    /// Sent after every commit.
    let changes = ChangeSignal()
    /// Sent after every commit that made something pending.
    let writes = ChangeSignal()
    let capture: CaptureContext
    private let worker: DatabaseWorker
    private let writtenRows: WrittenRows
    private let unreported: [String]
    /// Nil: SQLite makes its own checkpoints, for example in a run in which every step must be the same each time.
    let checkpoints: Checkpoints?
    /// The number of the app's writes that wait for their turn.
    private let waiting = Mutex(0)
    private let shared: Mutex<SharedFile>
    /// How far the server's clock is ahead of this device's, in milliseconds.
    let clockOffset: Mutex<Int64>
    /// Where the clock was last restarted, in milliseconds since 1970. A confirmed stamp keeps it from going back further.
    let clockFloor = Mutex<Int64>(.min)
    private let watch = Mutex<Task<Void, Never>?>(nil)
    private let closing = Mutex(false)
    /// The owner that the file names.
    let owner: Mutex<FileOwner>
    /// Asks the engine's remote who is signed in.
    let whoIsSignedIn = Mutex(SignedInQuestion { .unknown })

    /// Opens a database file, or creates it.
    ///
    /// - Parameters:
    ///   - url: The file. Its folder must exist.
    ///   - synced: The record types whose tables are kept in step with the server.
    ///   - durability: Default: `full`.
    ///   - configuration: GRDB's configuration for every connection to the file, for example with the key of an encrypted
    ///     database. Its `prepareDatabase` closures run on each connection before the store reads or sets anything there.
    ///     The store sets `busyMode` itself. With a configuration, SQLite copies its write-ahead log within commits.
    ///     Default: nil, the store's own.
    ///   - protection: When the system lets the file be read. Default: `system`.
    ///   - rowValidation: The app's checks of its rows, which its server has too. A write with a row that fails throws. Each is of a
    ///     table that syncs. Default: none.
    ///   - dependencies: The sources of time, ids and chance. Default: the real ones.
    ///   - logger: Receives the failures of live queries and of reading the status, without anything that users wrote.
    ///   - migrate: Registers the app's own migrations, which create and alter its tables. They run before this returns.
    /// - Throws: `OptimistError` with a message that says what to do: code `noFolder`, and no file is created;
    ///   `notADatabase`, `newerVersion` or `erasingMigrator`, and the file is as it was; `notDurable`, before the migrations
    ///   run; `invalidTable`, after they have run, or before for a check of an unknown table; `damagedMetadata`.
    ///   `DatabaseError` for an error of SQLite or of a migration.
    public init(
        at url: URL, synced: [any SyncedRecord.Type], durability: Durability = .full,
        configuration: Configuration? = nil, protection: FileProtection = .system,
        rowValidation: RowValidation = RowValidation(), dependencies: Dependencies = Dependencies(),
        logger: Logger = Logger(label: "optimist.store"), migrate: (inout DatabaseMigrator) -> Void
    ) throws {
        try Self.requireTables(of: rowValidation, among: synced)
        var migrator = DatabaseMigrator()
        migrate(&migrator)
        let file = StoreFile(url: url, configuration: configuration ?? Configuration())
        try file.check(against: migrator)
        try protection.prepare(url)
        let capture = CaptureContext(clock: HybridClock())
        // They open the file by themselves, without what the app's configuration does.
        let makesOwn = dependencies.blockingExecutor == nil && configuration == nil
        checkpoints = makesOwn ? Checkpoints(url, dependencies) : nil
        let opened: OpenedDatabase
        do {
            opened = try OpenedDatabase(
                file: file, synced: synced, durability: durability, migrator: migrator, capture: capture,
                checkpoints: checkpoints, dependencies: dependencies)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN {
            throw file.sentence(onNotOpening: error)
        }
        try protection.protect(url)
        pool = opened.pool
        layouts = opened.layouts
        unreported = opened.unreported
        writtenRows = WrittenRows(opened.layouts, rowValidation)
        shared = Mutex(opened.shared)
        let (offset, present) = try opened.pool.read { db in
            (try Meta.int(.clockOffset, in: db) ?? 0, try FileOwner(in: db))
        }
        clockOffset = Mutex(offset)
        owner = Mutex(present)
        self.capture = capture
        self.dependencies = dependencies
        self.logger = logger
        worker = DatabaseWorker(executor: dependencies.blockingExecutor ?? QueueExecutor(label: "optimist.store"))
        checkpoints?.committed(pool)
        watchOthers()
    }

    private static func requireTables(of rowValidation: RowValidation, among synced: [any SyncedRecord.Type]) throws {
        let strangers = rowValidation.types.subtracting(synced.map { $0.databaseTableName }).sorted()
        if strangers.isEmpty { return }
        let names = strangers.joined(separator: ", ")
        throw OptimistError(.invalidTable, "There are checks for \(names), and no table of that name is synced.")
    }

    deinit {
        watch.withLock { $0 }?.cancel()
        // A caller that now moves or removes the file finds it unused.
        checkpoints?.waitUntilIdle()
    }

    /// Closes the file, so that the app can move, replace or delete it, or let the system suspend the app without a lock.
    ///
    /// Writes that have been asked for are finished first. From then on every read and write throws `OptimistError` with
    /// code `storeClosed`, live queries emit nothing more, and the store cannot be opened again: make another. Cancel `SyncEngine.run()`
    /// first and wait for it to return. Closing twice changes nothing. Cancelling does not interrupt it.
    ///
    /// - Throws: `DatabaseError` if the app's own observations or statements still use the file. It stays closed to reads and
    ///   writes; call this again to let go of the file.
    public func close() async throws {
        closing.withLock { $0 = true }
        watch.withLock { $0 }?.cancel()
        await checkpoints?.stop()
        try await worker.run { try self.pool.close() }
    }

    /// Whether the app has closed the store.
    var isClosed: Bool { closing.withLock { $0 } }

    private func requireOpen() throws {
        if isClosed { throw OptimistError(.storeClosed, "The store is closed. Open the file with another store.") }
    }

    /// Follows the commits of other processes as long as the store exists: live queries show them, and the engine sends them.
    private func watchOthers() {
        guard let notices = fileNotices() else { return }
        let task = dependencies.spawn { [weak self] in
            for await _ in notices { try? await self?.lookForOthers() }
        }
        watch.withLock { $0 = task }
    }

    /// The app's tables, for reading with GRDB's own API, including its observations.
    ///
    /// Writes need ``Store/write(allOrNothing:_:)``.
    public var reader: any DatabaseReader { pool }

    /// Writes to the app's tables, in one transaction.
    ///
    /// Changes to synced tables are pending when this returns, and are sent when possible. If the closure throws, nothing is
    /// changed. Cancelling the caller does not undo a write that has begun.
    ///
    /// The server applies the rows of one write together, up to 1,000 rows and 5 MB. If it refuses one of them, that row and
    /// the pending rows that refer to it become a ``Rejection``, and the other rows are sent again.
    ///
    /// - Parameters:
    ///   - allOrNothing: Whether one refused row makes the server refuse all others of the write, and all rows that are
    ///     still pending together with it. Default: false.
    ///   - updates: Runs on the database's thread. It must not wait for anything else.
    /// - Returns: The value that the closure returns, once the transaction is durable.
    /// - Throws: What the closure throws; `OptimistError` with code `rowTooLarge` for a row that no server would take,
    ///   `unfitValue` for a value that its column cannot sync unchanged, `ruleBroken` for a row that breaks one of ``SyncRules/columns`` or a check of the app, or `otherAccount` if an
    ///   account other than the file's is signed in; `DatabaseError`, for example when the disk is full.
    public func write<T: Sendable>(
        allOrNothing: Bool = false, _ updates: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try await writeInTurn { author in
            try self.transact(as: .user, by: author) { db in
                let value = try updates(db)
                if allOrNothing, let group = self.capture.usedGroup { try GroupJoins(db).keepWhole(group) }
                return value
            }
        }
    }

    /// Writes like ``write(allOrNothing:_:)``, and also returns a receipt, with which the app can wait for the server's answer.
    ///
    /// - Returns: What the closure returned, and the receipt, for ``rejections(awaiting:)``.
    /// - Throws: As ``write(allOrNothing:_:)``.
    public func writeWithReceipt<T: Sendable>(
        _ updates: @escaping @Sendable (Database) throws -> T
    ) async throws -> (value: T, receipt: Receipt) {
        try await writeInTurn { author in
            try self.transact(as: .user, by: author, collecting: true) { db in
                let value = try updates(db)
                return (value, try Receipt(rows: self.capture.touched, layouts: self.layouts, in: db))
            }
        }
    }

    /// - Parameter write: Gets the user who was signed in when the app called. Another user may be signed in when the write has
    ///   its turn.
    private func writeInTurn<T: Sendable>(
        _ write: @escaping @Sendable (_ author: SignInState) throws -> T
    ) async throws -> T {
        try requireOpen()
        let author = signedIn
        try await note(author)
        waiting.withLock { $0 += 1 }
        return try await worker.run {
            self.waiting.withLock { $0 -= 1 }
            return try write(author)
        }
    }

    /// Whether one of the app's writes waits for its turn.
    var isAwaited: Bool { waiting.withLock { $0 > 0 } }

    /// Reads one committed state of the database. It never waits for a write or for the network.
    ///
    /// - Parameter value: Runs on another thread, not on the caller's actor.
    /// - Throws: What the closure throws; `DatabaseError`.
    @concurrent
    public func read<T: Sendable>(_ value: @Sendable (Database) throws -> T) async throws -> T {
        try readNow(value)
    }

    /// GRDB's synchronous reading, under a name that an async function cannot mistake for the asynchronous one.
    private func readNow<T>(_ value: (Database) throws -> T) throws -> T {
        try requireOpen()
        return try pool.read(value)
    }

    // MARK: - For the engine

    /// Runs a transaction of the engine. Its changes are not captured.
    func apply<T: Sendable>(_ updates: @escaping @Sendable (Database) throws -> T) async throws -> T {
        let value = try await worker.run { try self.transact(as: .server, updates) }
        await checkpoints?.catchUp()
        return value
    }

    /// Copies a long write-ahead log, and returns once no copy is under way or due.
    func untilCheckpointed() async { await checkpoints?.settle() }

    /// Makes every later write of this device later than the clocks of others that it has seen. Called within `apply`.
    func witness(_ clocks: ColumnClocks?) {
        if let latest = clocks?.latest { capture.witness(latest.stamp) }
    }

    /// Milliseconds since 1970.
    var milliseconds: Int64 { Int64((dependencies.now().timeIntervalSince1970 * 1000).rounded(.down)) }

    /// The server's time of day in milliseconds since 1970, as far as it is known (M4).
    var correctedMilliseconds: Int64 { milliseconds + clockOffset.withLock { $0 } }

    /// Gives new stamps to the rows that a clock far ahead has stamped, and restarts the clock, in one transaction.
    ///
    /// - Parameter restamp: Gives the rows new stamps, and returns the last stamp that it gave.
    func restartClock(_ restamp: @escaping @Sendable (Database) throws -> Stamp) async throws {
        try await worker.run {
            let former = self.capture.lastStamp
            do {
                let last = try self.transact(as: .server) { db in
                    let last = try restamp(db)
                    self.capture.restart(at: last)
                    try Meta.set(.stampCeiling, to: last.rawValue, in: db)
                    return last
                }
                self.shared.withLock { $0.restart(at: last) }
                self.clockFloor.withLock { $0 = last.milliseconds }
            } catch {
                self.capture.restart(at: former)
                throw error
            }
        }
    }

    /// Takes up what other processes have committed, if they have.
    ///
    /// The notice of a commit arrives before the commit is visible. The other process holds the write lock until then, so this
    /// method takes the lock too.
    func lookForOthers() async throws {
        try await worker.run {
            let version = try self.pool.write { try Self.dataVersion($0) }
            if version != self.shared.withLock({ $0.version }) { try self.transact(as: .server) { _ in } }
        }
    }

    /// - Parameter person: The user who was signed in when the app wrote. If that user may not write to this file, a
    ///   transaction that changes a synced row fails.
    func transact<T>(
        as author: CaptureContext.Author, by person: SignInState = .unknown, collecting: Bool = false,
        _ updates: (Database) throws -> T
    ) throws -> T {
        var file = shared.withLock { $0 }
        var captured = false
        let value = try pool.write { db in
            let othersWrote = try meetOthers(&file, capture: capture, in: db)
            let isChecked = author == .user && !writtenRows.isEmpty
            capture.begin(as: author, milliseconds: correctedMilliseconds, collecting: collecting || isChecked)
            defer { capture.begin(as: .user, milliseconds: 0) }
            let changes = db.totalChangesCount
            let value = try capture.namingRefusedRows(of: layouts) { try updates(db) }
            if db.totalChangesCount != changes { try Self.notifyChanges(in: unreported, db) }
            if isChecked, let stamp = capture.usedStamp { try writtenRows.check(capture.touched, at: stamp, in: db) }
            try GroupJoins(db).insert(capture.joins)
            captured = capture.usedStamp != nil || othersWrote
            if author == .user, capture.usedStamp != nil { try admit(person) }
            if author == .server || capture.usedStamp != nil { try EngineSchema.notifyChanges(by: author, in: db) }
            if let ceiling = file.raise(for: capture.lastStamp, at: correctedMilliseconds) {
                try Meta.set(.stampCeiling, to: ceiling.rawValue, in: db)
            }
            return value
        }
        shared.withLock { $0 = file }
        changes.send()
        if captured { writes.send() }
        checkpoints?.committed(pool)
        return value
    }
}

/// Runs the writes of one store, one after another, on an executor of their own.
private actor DatabaseWorker {
    private let executor: any SerialExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(executor: any SerialExecutor) { self.executor = executor }

    func run<T: Sendable>(_ work: @Sendable () throws -> T) throws -> T { try work() }
}
