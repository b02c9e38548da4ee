// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB
public import Logging
public import OptimistCore
@_spi(Internals) public import OptimistWire

/// An app's data on this device: its own SQLite tables, and the changes that the server does not have yet.
///
/// A write commits to the app's tables and to the outbox in one transaction, and returns when the transaction is
/// durable. Writes never wait for the network, and reads never use it. A ``SyncEngine`` sends pending changes when it
/// can.
///
/// Safe to use from any thread and task. Several processes can open the same file, each through its own `Store`: each
/// process's live queries show what the others commit, and one process at a time syncs.
public final class Store: Sendable {
    /// Which failures a finished write survives.
    public enum Durability: Sendable {
        /// Finished writes survive a crash and a power loss. The default.
        case full
        /// Finished writes survive a crash. A power loss may undo the last ones. Faster.
        case normal
    }

    let pool: DatabasePool
    let layouts: [TableLayout]
    let dependencies: Dependencies
    let logger: Logger
    let network = NetworkPolicy()
    /// Sent after every commit.
    let changes = ChangeSignal()
    /// Sent after every commit that leaves a row to send.
    let writes = ChangeSignal()
    let ends = SpaceEnds()
    let capture: CaptureContext
    private let worker: DatabaseWorker
    private let writtenRows: WrittenRows
    private let unreported: [String]
    /// Nil if SQLite runs its own checkpoints, for example in a deterministic run.
    let checkpoints: Checkpoints?
    private let waiting = Mutex(0)
    private let shared: Mutex<SharedFile>
    /// The server's time minus the device's, in milliseconds.
    let clockOffset: Mutex<Int64>
    /// The time at which the clock was last restarted, in milliseconds since 1970. Confirmed stamps kept the clock from
    /// going back further.
    let clockFloor = Mutex<Int64>(.min)
    private let watch = Mutex<Task<Void, Never>?>(nil)
    private let closing = Mutex(false)
    let owner: Mutex<FileOwner>
    let whoIsSignedIn = Mutex(SignedInQuestion { .unknown })

    /// Opens or creates a database file.
    ///
    /// - Parameters:
    ///   - url: The file. Its folder must exist.
    ///   - synced: The record types whose tables sync.
    ///   - durability: Default: `full`.
    ///   - configuration: GRDB's configuration for every connection, for example with the key of an encrypted database.
    ///     Its `prepareDatabase` closures run first. The store sets `busyMode`. With a custom configuration, SQLite
    ///     runs checkpoints within commits. Default: nil.
    ///   - protection: When the operating system allows access to the file. Default: `system`.
    ///   - rowValidation: The app's row checks, which its server runs too. A write that fails a check throws. Every
    ///     checked table must sync. Default: none.
    ///   - dependencies: The sources of time, ids and randomness. Default: the system's.
    ///   - logger: Receives failures of live queries and of status reads, without user data.
    ///   - migrate: Registers the app's migrations, which create and alter its tables. They run before this returns.
    /// - Throws: `OptimistError`. After code `noFolder`, `notADatabase`, `newerVersion` or `erasingMigrator`, no data
    ///   has changed. After `notDurable`, no migration has run. After `invalidTable`, all migrations have run, or none
    ///   if a check names a table that does not sync. The code can also be `damagedMetadata`. `DatabaseError` if SQLite
    ///   or a migration fails.
    public init(
        at url: URL, synced: [any SyncedRecord.Type], durability: Durability = .full,
        configuration: Configuration? = nil, protection: FileProtection = .system,
        rowValidation: RowValidation = RowValidation(), dependencies: Dependencies = Dependencies(),
        logger: Logger = Logger(label: "optimist.store"), migrate: (inout DatabaseMigrator) -> Void
    ) throws {
        try Self.requireTables(of: rowValidation, among: synced)
        let synced = Self.withSpaces(synced)
        var migrator = DatabaseMigrator()
        migrate(&migrator)
        let file = StoreFile(url: url, configuration: configuration ?? Configuration())
        try file.check(against: migrator)
        try protection.prepare(url)
        let capture = CaptureContext(clock: HybridClock())
        // Checkpoints use a connection without the app's configuration.
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
        capture.share(SharedTables(opened.layouts))
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
        throw OptimistError(
            .invalidTable,
            "The store has checks for \(names), but does not sync a table with that name."
        )
    }

    deinit {
        watch.withLock { $0 }?.cancel()
        // The caller may now move or remove the file.
        checkpoints?.waitUntilIdle()
        if checkpoints != nil { untilWriterIsIdle() }
    }

    /// Closes the file, so that the app can move, replace or delete it, or be suspended without holding a lock.
    ///
    /// Queued writes finish first. After that, every read and write throws `OptimistError` with code `storeClosed`,
    /// live queries emit nothing more, and the store cannot be reopened: make a new one. First cancel
    /// `SyncEngine.run()` and wait for it to return. A second call is harmless, and cancellation does not interrupt a
    /// call.
    ///
    /// - Throws: `DatabaseError` if the app's own observations or statements still use the file. The store stays closed
    ///   to reads and writes; call this again to release the file.
    public func close() async throws {
        closing.withLock { $0 = true }
        watch.withLock { $0 }?.cancel()
        await checkpoints?.stop()
        try await worker.run { try self.pool.close() }
    }

    var isClosed: Bool { closing.withLock { $0 } }

    private func requireOpen() throws {
        if isClosed { throw OptimistError(.storeClosed, "The store is closed. Open the file with a new store.") }
    }

    private func watchOthers() {
        guard let notices = fileNotices() else { return }
        let task = dependencies.spawn { [weak self] in
            for await _ in notices { try? await self?.lookForOthers() }
        }
        watch.withLock { $0 = task }
    }

    /// Read access to the app's tables through GRDB, including its observations.
    ///
    /// To write, use ``Store/write(allOrNothing:_:)``.
    public var reader: any DatabaseReader { pool }

    /// Writes to the app's tables in one transaction.
    ///
    /// When this returns, changes to synced tables are pending and will be sent. If the closure throws, nothing is
    /// changed. Cancelling the caller does not undo a write that has begun.
    ///
    /// The server applies the rows of one write together, up to 1,000 rows and 5 MB. If the server refuses a row, that
    /// row and the pending rows that refer to it become a ``Rejection``, and the engine resends the others.
    ///
    /// - Parameters:
    ///   - allOrNothing: Whether one refused row makes the server refuse all rows of this write, and all rows still
    ///     pending with them. Default: false.
    ///   - updates: Runs on the database's thread, and must not block.
    /// - Returns: The closure's result, once the transaction is durable.
    /// - Throws: What the closure throws; `OptimistError` with code `rowTooLarge` if no server would accept a row,
    ///   `unfitValue` if a value cannot sync unchanged, `ruleBroken` if a row breaks ``SyncRules/columns`` or a check
    ///   of the app, or `otherAccount` if an account other than the file's is signed in; `DatabaseError`, for example
    ///   when the disk is full.
    public func write<T: Sendable>(
        allOrNothing: Bool = false, _ updates: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try await writeInTurn { author in
            try self.transact(as: .user, by: author) { db in
                let value = try updates(db)
                if allOrNothing { try self.keepWhole(db) }
                return value
            }
        }
    }

    /// Makes the server refuse the rows of the running transaction together.
    private func keepWhole(_ db: Database) throws {
        if let group = capture.usedGroup { try GroupJoins(db).keepWhole(group) }
    }

    /// Writes like ``write(allOrNothing:_:)``, and returns a receipt to wait for the server's answer.
    ///
    /// - Parameters:
    ///   - allOrNothing: As in ``write(allOrNothing:_:)``.
    ///   - updates: As in ``write(allOrNothing:_:)``.
    /// - Returns: The closure's result, and a receipt for ``rejections(awaiting:)``.
    /// - Throws: As ``write(allOrNothing:_:)``.
    public func writeWithReceipt<T: Sendable>(
        allOrNothing: Bool = false, _ updates: @escaping @Sendable (Database) throws -> T
    ) async throws -> (value: T, receipt: Receipt) {
        try await writeInTurn { author in
            try self.transact(as: .user, by: author, collecting: true) { db in
                let value = try updates(db)
                if allOrNothing { try self.keepWhole(db) }
                return (value, try Receipt(rows: self.capture.touched, layouts: self.layouts, in: db))
            }
        }
    }

    /// - Parameter write: Receives the user who was signed in when the app called. Another user may be signed in when
    ///   the write runs.
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

    /// Whether an app write is queued.
    var isAwaited: Bool { waiting.withLock { $0 > 0 } }

    /// Reads one committed state of the database. Never waits for a write or for the network.
    ///
    /// - Parameter value: Runs on another thread, not on the caller's actor.
    /// - Throws: What the closure throws; `DatabaseError`.
    @concurrent
    public func read<T: Sendable>(_ value: @Sendable (Database) throws -> T) async throws -> T {
        try readNow(value)
    }

    /// Lets an async function call GRDB's synchronous `read`, not the asynchronous one.
    private func readNow<T>(_ value: (Database) throws -> T) throws -> T {
        try requireOpen()
        return try pool.read(value)
    }

    // MARK: - For the engine

    /// Runs a transaction of the engine, whose changes are not captured.
    func apply<T: Sendable>(_ updates: @escaping @Sendable (Database) throws -> T) async throws -> T {
        let value = try await worker.run { try self.transact(as: .server, updates) }
        await checkpoints?.catchUp()
        return value
    }

    /// Checkpoints what is left of the log, and returns when no checkpoint runs or is due.
    func untilCheckpointed() async {
        guard let checkpoints else { return }
        await checkpoints.settle()
        await worker.run { self.untilWriterIsIdle() }
    }

    /// Waits for the checkpoints that the writing connection runs. Returns at once on that connection's own queue.
    private func untilWriterIsIdle() { pool.unsafeReentrantWrite { _ in } }

    /// Makes later stamps of this device greater than these clocks. Called within `apply`.
    func witness(_ clocks: ColumnClocks?) {
        if let latest = clocks?.latest { capture.witness(latest.stamp) }
    }

    /// Milliseconds since 1970.
    var milliseconds: Int64 { Int64((dependencies.now().timeIntervalSince1970 * 1000).rounded(.down)) }

    /// The server's time in milliseconds since 1970, as far as it is known (M4).
    var correctedMilliseconds: Int64 { milliseconds + clockOffset.withLock { $0 } }

    /// Restamps the rows that were stamped by a clock far ahead, and restarts the clock, in one transaction.
    ///
    /// - Parameter restamp: Restamps the rows, and returns the last new stamp.
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

    /// Picks up commits of other processes, if there are any.
    ///
    /// The notice arrives before the commit is visible. The other process still holds the write lock then, so this
    /// method takes the lock to wait for the commit.
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
            if author == .server { file.checkedAnchors.forget() }
            let spaceWrites = capture.spaceWrites
            if !file.checkedAnchors.cover(spaceWrites), try !SpaceGuard.isNeedless(for: spaceWrites, in: db) {
                var spaceGuard = try SpaceGuard(spaceWrites, layouts, db)
                try spaceGuard.check()
                file.checkedAnchors.add(spaceWrites)
            }
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

/// Runs the writes of one store in sequence on its own executor.
private actor DatabaseWorker {
    private let executor: any SerialExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(executor: any SerialExecutor) { self.executor = executor }

    func run<T: Sendable>(_ work: @Sendable () throws -> T) rethrows -> T { try work() }
}
