// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import Logging
import OptimistCore
public import OptimistSession
import OptimistWire

/// Keeps a store in step with a server: sends pending rows, and receives other devices' writes.
///
/// An app creates one engine for each store and lets it run as long as it likes:
///
/// ```swift
/// let sync = SyncEngine(store: store, session: session)
/// Task { await sync.run() }
/// for await status in sync.statuses { … }
/// ```
///
/// The engine never blocks a write or a read of the app. A pure value, `SyncMachine`, makes all decisions.
///
/// Invariant: one loop handles events, one at a time. Each lane (push, pull and stream) has at most one attempt whose
/// outcome counts. Where the file system has locks, one engine at a time syncs a file, across all processes.
public actor SyncEngine {
    let store: Store
    let remote: any Remote
    let session: Session?
    let installID: UUID?
    let onMassRemoval: @Sendable (MassRemoval) async -> MassRemoval.Decision
    private let reachability: any Reachability
    let dependencies: Dependencies
    let logger: Logger
    let inbox = Inbox()
    /// The status of sync: now, and whenever it changes. A slow reader gets only the newest status. Any task may follow
    /// it.
    public nonisolated let statuses: SyncStatuses

    private var machine: SyncMachine
    private var listens = true
    var account: RemoteAccount?
    /// The user who signed in to `account`.
    var connectedAs = SignInState.unknown
    /// The connection attempt under way, which several lanes may share.
    var connecting = SharedWork<RemoteAccount>()
    var pulls = Pulls()
    private(set) var elapsed: Stopwatch
    /// Each lane's current work. Outcomes of earlier work are dropped.
    private var works: [SyncMachine.Lane: Int] = [:]
    private var tasks: [Int: Task<Void, Never>] = [:]
    private var timers: [SyncMachine.Timer: Task<Void, Never>] = [:]
    let storeTasks: StoreTasks
    /// An earlier run's wait for its last transactions.
    private var ending: Task<Void, Never>?
    private var lastTask = 0
    /// The call of ``syncOnce(timeout:)`` that runs the engine.
    var cycle: Task<Void, Never>?
    /// The callers of ``syncOnce(timeout:)``.
    private var waiters: [Inbox.Waiter] = []
    var lastBatch: PushBatch?
    var asksForRewind = true
    /// Deferred rows that this run has logged.
    var toldWaits: Set<DeferralReason.Place> = []

    /// Creates an engine for a server that speaks JMAP, through a session.
    ///
    /// - Parameters:
    ///   - store: The device's rows. One engine syncs a store at a time.
    ///   - session: Signs the requests. Sync is paused while the user is not signed in.
    ///   - reachability: Hints at when an attempt may succeed. Default: the system's.
    ///   - schemaVersion: The version of the schema that the app was built with.
    ///   - logger: Receives errors that could not be thrown, without any user content.
    ///   - onMassRemoval: Called before the engine removes more than half of a table, and more than 100 rows, because the
    ///     server no longer has them. Sync continues during the call. The engine asks once in each run until there is an
    ///     answer, and again if the removal has grown by then. Default: the rows stay on this device.
    public init(
        store: Store, session: Session, reachability: (any Reachability)? = nil, schemaVersion: Int = 1,
        logger: Logger = Logger(label: "optimist.sync"),
        onMassRemoval: @escaping @Sendable (MassRemoval) async -> MassRemoval.Decision = { _ in .keep }
    ) {
        self.init(
            store: store, remote: JMAPRemote(session: session, schemaVersion: schemaVersion), session: session,
            installID: nil, reachability: reachability, logger: logger, onMassRemoval: onMassRemoval)
    }

    /// Creates an engine for your own backend.
    ///
    /// - Parameters:
    ///   - store: The device's rows. One engine syncs a store at a time.
    ///   - remote: The backend.
    ///   - reachability: Hints at when an attempt may succeed. Default: the system's.
    ///   - installID: An id of this installation of the app, kept outside backups, to recognise a restored or copied
    ///     file. Default: nil, so that only the remote's push numbers reveal such a file.
    ///   - logger: Receives errors that could not be thrown, without any user content.
    ///   - onMassRemoval: Called before the engine removes more than half of a table, and more than 100 rows, because the
    ///     server no longer has them. Sync continues during the call. The engine asks once in each run until there is an
    ///     answer, and again if the removal has grown by then. Default: the rows stay on this device.
    public init(
        store: Store, remote: any Remote, reachability: (any Reachability)? = nil, installID: UUID? = nil,
        logger: Logger = Logger(label: "optimist.sync"),
        onMassRemoval: @escaping @Sendable (MassRemoval) async -> MassRemoval.Decision = { _ in .keep }
    ) {
        self.init(
            store: store, remote: remote, session: nil, installID: installID, reachability: reachability,
            logger: logger, onMassRemoval: onMassRemoval)
    }

    private init(
        store: Store, remote: any Remote, session: Session?, installID: UUID?, reachability: (any Reachability)?,
        logger: Logger, onMassRemoval: @escaping @Sendable (MassRemoval) async -> MassRemoval.Decision
    ) {
        self.store = store
        self.remote = PromptRemote(remote, store.dependencies)
        storeTasks = StoreTasks(store.dependencies)
        self.session = session
        self.onMassRemoval = onMassRemoval
        self.installID = installID
        self.reachability = reachability ?? SystemReachability()
        self.logger = logger
        dependencies = store.dependencies
        elapsed = Stopwatch(store.dependencies.clock)
        statuses = SyncStatuses(store: store)
        machine = SyncMachine(random: dependencies.randomness(for: "sync.backoff"))
        askAtWrites()
    }

    /// Lets the store check who is signed in at every write.
    private nonisolated func askAtWrites() { store.follow { [weak self] in self?.remote.signInState ?? .unknown } }

    /// Syncs until the task is cancelled. The next run repeats unfinished work, so no change is lost.
    ///
    /// A cancelled run waits for a transaction under way, but not for a request. After the run returns, sync does not
    /// hold a lock on the file.
    ///
    /// A second call returns immediately while the first one runs. If several processes open the same file, one of them
    /// syncs and the others are paused. When that process stops or crashes, another one takes over within two seconds.
    /// The processes take turns with a lock on a file next to the database. If the database is in a shared container,
    /// the app must cancel this call before the system suspends it.
    public func run() async {
        while let cycle { await cycle.value }
        guard let events = inbox.open() else { return }
        await take(events, listens: true)
    }

    /// - Parameter listens: Whether to open the stream of pokes.
    func take(_ events: AsyncStream<Inbox.Signal>, listens: Bool) async {
        self.listens = listens
        while let ending { await ending.value }
        let turn: SyncLock?
        do { turn = try await takeTurn() } catch {
            inbox.close()
            return statuses.show(.stopped)
        }
        await run(events)
        await end(turn)
        // The app may be suspended after this without a lock on the file.
        await store.untilCheckpointed()
    }

    /// Waits for a cancelled run's last transactions, so that the next run begins after them.
    private func end(_ turn: SyncLock?) async {
        let end = dependencies.spawn { [storeTasks] in
            await storeTasks.untilDone()
            turn?.end()
            await self.ended()
        }
        ending = end
        await end.value
    }

    private func ended() { ending = nil }

    /// Waits until no other process syncs this file. Nil if no other process can have it open.
    private func takeTurn() async throws -> SyncLock? {
        guard dependencies.sharesFiles else { return nil }
        var wait = Duration.milliseconds(100)
        while true {
            if let turn = SyncLock(for: store.file) { return turn }
            statuses.show(.paused(reason: .otherProcess))
            try await dependencies.clock.sleep(for: wait)
            wait = min(wait * 2, .seconds(2))
        }
    }

    private func run(_ events: AsyncStream<Inbox.Signal>) async {
        elapsed = Stopwatch(dependencies.clock)
        askAtWrites()
        let watchers = watch()
        defer {
            inbox.close()
            statuses.show(.stopped)
            for waiter in waiters { waiter.finish() }
            waiters = []
            for task in watchers { task.cancel() }
            abandon()
            for question in pulls.asking.values { question.cancel() }
            for timer in timers.values { timer.cancel() }
            timers = [:]
        }
        machine = SyncMachine(random: dependencies.randomness(for: "sync.backoff"))
        account = nil
        asksForRewind = true
        pulls = Pulls()
        toldWaits = []
        statuses.show(withheld: [:])
        await forgetPushInFlight()
        await perform(machine.handle(.started(await savedWaits(), await firstLimits()), at: elapsed()))
        for await signal in events {
            if let work = signal.work, !works.values.contains(work) { continue }
            if signal.event.mayBringChanges { pulls.spaces = nil }
            await perform(machine.handle(signal.event, at: elapsed()))
            if let waiter = signal.waiter { waiters.append(waiter) }
            if machine.isSettled { tellWaiters() }
        }
    }

    private func tellWaiters() {
        for waiter in waiters {
            waiter.yield(machine.phase)
            waiter.finish()
        }
        waiters = []
    }

    /// Syncs now, because the app entered the foreground or the user asked for it.
    ///
    /// Returns immediately, on any thread.
    ///
    /// - Push and pull start now, and the event stream opens if it is not open. A push or pull that is already running
    ///   runs once more.
    /// - A push or pull that waits after failures starts now, but only once in each wait, and not before a time that
    ///   the server demanded. A row with its own wait continues to wait.
    /// - If sync failed or is paused, it starts again, and reconnects to the remote. If there is still no session or no
    ///   permission, sync is paused again.
    /// - If ``run()`` is not under way, this does nothing.
    public nonisolated func syncNow() { inbox.put(.foreground) }

    // MARK: - Events from outside

    private func watch() -> [Task<Void, Never>] {
        let (inbox, writes, paths, network) = (inbox, store.writes.stream(), reachability.updates, store.network)
        var watchers = [
            dependencies.spawn { for await _ in writes { inbox.put(.wrote) } },
            dependencies.spawn {
                for await path in paths {
                    network.set(path)
                    inbox.put(.online(path.isOnline))
                }
            },
        ]
        if let states = session?.states {
            watchers.append(
                storeTasks.spawn {
                    for await state in states {
                        await self.noteSignedIn(in: state)
                        Self.report(state, to: inbox)
                    }
                })
        }
        return watchers
    }

    /// Stores who is signed in, and whether the account is gone, for later launches and other processes.
    private nonisolated func noteSignedIn(in state: SessionState) async {
        do {
            if case .signedOut(.accountDeleted) = state { try await store.noteAccountDeleted() }
            try await store.note(remote.signInState)
        } catch {
            logger.error("sync.account.failed", metadata: ["error": "\(error)"])
        }
    }

    private static func report(_ state: SessionState, to inbox: Inbox) {
        switch state {
        case .restoring, .locked: break
        case .signedOut(let reason): inbox.put(.signedOut(PauseReason(reason)))
        case .active, .refreshing, .degraded: inbox.put(.signedIn)
        }
    }

    private func forgetPushInFlight() async {
        do { try await store.pushEnded() } catch {
            logger.error("sync.start.failed", metadata: ["error": "\(error)"])
        }
    }

    private func savedWaits() async -> [SyncMachine.Lane: SyncMachine.Wait] {
        do { return try await store.savedWaits() } catch {
            logger.error("sync.waits.unreadable", metadata: ["error": "\(error)"])
            return [:]
        }
    }

    private func firstLimits() async -> SyncMachine.Limits {
        do { return try await store.firstLimits() } catch {
            logger.error("sync.start.failed", metadata: ["error": "\(error)"])
            return SyncMachine.Limits()
        }
    }

    // MARK: - Effects

    private func perform(_ effects: [SyncMachine.Effect]) async {
        for effect in effects {
            do { try await perform(effect) } catch {
                logger.error("sync.effect.failed", metadata: ["error": "\(error)"])
            }
        }
    }

    private func perform(_ effect: SyncMachine.Effect) async throws {
        switch effect {
        case .push(let rowLimit): start(.push) { _ in await .pushed(self.push(rowLimit)) }
        case .pull(let rowLimit): start(.pull) { _ in await .pulled(self.pull(rowLimit)) }
        case .openStream: if listens { listen() }
        case .abandon: abandon()
        case .giveUp(let lane): giveUp(lane)
        case .wait(let timer, let wait, let token): set(timer, wait, token)
        case .cancelWait(let timer): timers.removeValue(forKey: timer)?.cancel()
        case .remember(let lane, let failures, let wait, let isDemanded):
            try await store.saveWait(of: lane, failures: failures, wait: wait, isDemanded: isDemanded)
        case .setAside(let isRejected): try await setAside(isRejected: isRejected)
        case .renewDeviceID: try await store.renewDeviceID()
        case .reconnect: account = nil
        case .publish(let phase, let isCaughtUp): statuses.show(phase, isCaughtUp: isCaughtUp)
        }
    }

    /// Runs a lane's work. Its outcome is an event, which the engine drops if the work was abandoned.
    ///
    /// - Parameter work: Receives its own number.
    private func start(_ lane: SyncMachine.Lane, _ work: @escaping @Sendable (Int) async -> SyncMachine.Event) {
        lastTask += 1
        let (id, inbox) = (lastTask, inbox)
        works[lane] = id
        tasks[id] = storeTasks.spawn {
            inbox.put(await work(id), from: id)
            await self.finished(id)
        }
    }

    private func finished(_ id: Int) { tasks[id] = nil }

    private func abandon() {
        works = [:]
        for task in tasks.values { task.cancel() }
        tasks = [:]
        pulls.ahead?.cancel()
        pulls.ahead = nil
    }

    private func giveUp(_ lane: SyncMachine.Lane) {
        logger.warning(
            "The server has not answered for 15 minutes. The request was cancelled and will be sent again.",
            metadata: ["sync.lane": "\(lane)"])
        if let work = works.removeValue(forKey: lane) { tasks.removeValue(forKey: work)?.cancel() }
        // A caller that joins a hanging connection attempt would also hang.
        if account == nil { connecting = SharedWork() }
        guard lane == .pull else { return }
        pulls.ahead?.cancel()
        pulls.ahead = nil
    }

    private func set(_ timer: SyncMachine.Timer, _ wait: Duration, _ token: Int) {
        timers[timer]?.cancel()
        let (inbox, clock) = (inbox, dependencies.clock)
        timers[timer] = dependencies.spawn {
            do { try await clock.sleep(for: wait) } catch { return }
            inbox.put(.waited(timer, token: token))
        }
    }

    // MARK: - The stream

    private func listen() {
        let (inbox, remote) = (inbox, remote)
        start(.stream) { work in
            do {
                _ = try await self.connected()
                try await remote.listen { poke in
                    inbox.put(poke == .changed ? .poked : .streamAlive, from: work)
                }
                return .streamEnded(.transient)
            } catch {
                return .streamEnded(SyncMachine.Failure(error))
            }
        }
    }

    nonisolated func poke() { inbox.put(.poked) }

    var isSettled: Bool { machine.isSettled }

    nonisolated var isRunning: Bool { inbox.isOpen }
}
