// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import GRDB
import Logging
public import Optimist
import OptimistCore
public import OptimistSession
public import OptimistWire

/// The app that every device of a simulation runs.
public struct SimulatedApp: Sendable {
    /// The record types that sync.
    public var synced: [any SyncedRecord.Type]
    /// Migrates the app's tables.
    public var migrate: @Sendable (inout DatabaseMigrator) -> Void
    /// The schema version that the app was built with. Default: 1.
    public var schemaVersion: Int
    /// The app's validation of its rows, on each device and on the simulation's server. Default: none.
    public var rowValidation: RowValidation

    /// Creates an app.
    public init(
        synced: [any SyncedRecord.Type], schemaVersion: Int = 1, rowValidation: RowValidation = RowValidation(),
        migrate: @escaping @Sendable (inout DatabaseMigrator) -> Void
    ) {
        self.synced = synced
        self.schemaVersion = schemaVersion
        self.rowValidation = rowValidation
        self.migrate = migrate
    }
}

/// A device in a simulation. Its disk, credentials and network link persist across launches of the app.
///
/// The device runs the app's real store, session and engine.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class SimulatedDevice: Sendable {
    /// One launch of the app.
    public struct Launch: Sendable {
        /// The process of this launch.
        public let process: SimulatedProcess
        /// The process's view of the device's disk.
        public let mount: DiskMount
        /// The open database.
        public let store: Store
        /// The session, which signs in at the first launch. Unused if the simulation has remotes.
        public let session: Session
        /// The running sync engine.
        public let engine: SyncEngine
    }

    private struct State {
        var process: SimulatedProcess?
        var mount: DiskMount?
        var launch: Launch?
        var launches = 0
        var skew = 0.0
        var processes: [SimulatedProcess] = []
        var isSignedIn = false
        var launchFailure: (any Error)?
        var app: SimulatedApp
    }

    /// The name that the test gave the device.
    public let name: String
    /// The device's disk, which persists across launches.
    @_spi(Internals) public let disk: SimulatedDisk
    /// The network between the device and the server, which can fail.
    public let link: SimulatedLink
    let scheduler: SimulatedScheduler
    private let person: String
    /// Nil if the device uses the simulated server.
    private let remote: RemoteOfDevice?
    private let seed: UInt64
    private let credentials = InMemoryCredentialStore()
    private let state: Mutex<State>

    /// Discards all messages, because a simulation causes thousands of faults.
    private static let silence = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }

    /// The name of the app's database file.
    @_spi(Internals) public static let fileName = "app.sqlite"

    /// Creates a device that is switched off.
    ///
    /// - Parameters:
    ///   - name: For messages.
    ///   - app: The app on it.
    ///   - scheduler: The scheduler of the simulation.
    ///   - server: The server that it syncs with.
    ///   - person: The account that the device signs in to. Default: the server's only account.
    ///   - seed: Determines all randomness of the device: its ids, disk and network.
    @_spi(Internals) public convenience init(
        name: String, app: SimulatedApp, scheduler: SimulatedScheduler, server: SimulatedServer,
        person: String = SimulatedServer.account, seed: UInt64
    ) {
        self.init(name: name, app: app, scheduler: scheduler, server: server, person: person, remote: nil, seed: seed)
    }

    /// - Parameter remote: Replaces the simulated server.
    init(
        name: String, app: SimulatedApp, scheduler: SimulatedScheduler, server: SimulatedServer,
        person: String = SimulatedServer.account, remote: RemoteOfDevice?, seed: UInt64
    ) {
        self.name = name
        self.person = person
        self.remote = remote
        state = Mutex(State(app: app))
        self.scheduler = scheduler
        self.seed = seed
        disk = SimulatedDisk(seed: seed ^ 0xD15C)
        link = SimulatedLink(scheduler: scheduler, server: server, seed: seed ^ 0x11E7)
    }

    /// The error of the device's wall clock, in seconds. Default: 0.
    public var skewSeconds: Double {
        get { state.withLock { $0.skew } }
        set { state.withLock { $0.skew = newValue } }
    }

    /// The app that the device runs. Set another one to upgrade the app at its next launch.
    public var app: SimulatedApp {
        get { state.withLock { $0.app } }
        set { state.withLock { $0.app = newValue } }
    }

    /// The current launch. Nil until the app has opened its database.
    public var launch: Launch? { state.withLock { $0.launch } }
    /// Whether the app's process is alive.
    public var isRunning: Bool { state.withLock { $0.process != nil } }
    /// The number of times the app was launched.
    @_spi(Internals) public var launches: Int { state.withLock { $0.launches } }
    /// The reason why the last launch could not open the database. Nil if it could.
    public var launchFailure: (any Error)? { state.withLock { $0.launchFailure } }
    @_spi(Internals) public var processes: [SimulatedProcess] { state.withLock { $0.processes } }

    /// Launches the app, unless it is running. The app opens its database, signs in if necessary, and syncs.
    ///
    /// - Parameter prepare: Called with the new launch before the app runs, for example to inject faults at its start.
    public func start(_ prepare: (SimulatedProcess, DiskMount) -> Void = { _, _ in }) {
        guard !isRunning else { return }
        let (process, mount) = (scheduler.process(name), disk.mount())
        let count = state.withLock { state in
            state.launches += 1
            state.process = process
            state.mount = mount
            state.launchFailure = nil
            state.processes.append(process)
            return state.launches
        }
        process.onDeath { [weak self] in
            mount.kill()
            self?.ended(process)
        }
        mount.onDeath { process.kill() }
        prepare(process, mount)
        let clock = scheduler.wallClock { [weak self] in self?.skewSeconds ?? 0 }
        let dependencies = process.dependencies(seed: seed &+ UInt64(count) &* 0x9E37_79B9, wallClock: clock)
        process.spawn { [self] in await run(process, mount, dependencies) }
    }

    /// Kills the app, like `kill -9`.
    public func kill() { state.withLock { $0.process }?.kill() }

    /// Kills the app after this many more jobs, at any `await`.
    public func kill(afterJobs count: Int) { state.withLock { $0.process }?.kill(afterJobs: count) }

    /// Simulates a power loss: the app dies, and unsynced data on the disk may be lost.
    public func losePower() {
        kill()
        disk.losePower()
    }

    /// The running app's view of the disk, for injecting faults. Nil if the app is not running.
    public var mount: DiskMount? { state.withLock { $0.mount } }

    /// Makes the app sign in again after a sign-out, as soon as it can.
    public func signIn() {
        state.withLock { $0.isSignedIn = false }
        guard let launch else { return }
        launch.process.spawn { [self] in await signIn(launch.session, launch.process) }
    }

    private func ended(_ process: SimulatedProcess) {
        state.withLock { state in
            guard state.process === process else { return }
            (state.process, state.mount, state.launch) = (nil, nil, nil)
        }
    }

    private func run(_ process: SimulatedProcess, _ mount: DiskMount, _ dependencies: Dependencies) async {
        let app = app
        do {
            let store = try Store(
                at: mount.url(Self.fileName), synced: app.synced, rowValidation: app.rowValidation,
                dependencies: dependencies,
                logger: Self.silence, migrate: app.migrate)
            let session = Session(
                server: URL(string: "http://localhost") ?? URL(filePath: "/"), transport: link.transport(for: process),
                credentials: credentials,
                configuration: SessionConfiguration(deviceName: name), dependencies: dependencies, logger: Self.silence)
            let engine = engine(store, session, process, app)
            guard process.isAlive else { return }
            let launch = Launch(process: process, mount: mount, store: store, session: session, engine: engine)
            state.withLock { $0.launch = launch }
            process.spawn { await engine.run() }
            if remote == nil { await signIn(session, process) }
        } catch {
            // An app that cannot open its database exits.
            if process.isAlive { state.withLock { $0.launchFailure = error } }
            process.kill()
        }
    }

    private func engine(
        _ store: Store, _ session: Session, _ process: SimulatedProcess, _ app: SimulatedApp
    ) -> SyncEngine {
        guard let remote else {
            return SyncEngine(
                store: store, session: session, reachability: AlwaysOnline(), schemaVersion: app.schemaVersion,
                logger: Self.silence, onMassRemoval: { _ in .remove })
        }
        let way = SimulatedRemote(
            base: remote.base, device: name, link: link, process: process, backend: remote.backend, book: remote.book)
        return SyncEngine(
            store: store, remote: way, reachability: AlwaysOnline(), logger: Self.silence,
            onMassRemoval: { _ in .remove })
    }

    /// The tables where this device may lack rows, by its remote's answers. Nil if the device uses the server.
    func behind(of tables: [String]) -> [String]? { remote?.book.behind(name, of: tables) }

    /// Retries until it succeeds, like a patient user.
    private func signIn(_ session: Session, _ process: SimulatedProcess) async {
        let clock = SimulatedClock(scheduler: scheduler, process: process)
        while process.isAlive, !state.withLock({ $0.isSignedIn }) {
            do {
                try await session.signIn(email: person, password: "secret")
                if process.isAlive { state.withLock { $0.isSignedIn = true } }
            } catch {
                do { try await clock.sleep(for: .seconds(20)) } catch { return }
            }
        }
    }
}

/// The engine must detect failures itself.
private struct AlwaysOnline: Reachability {
    var updates: AsyncStream<NetworkPath> { AsyncStream { $0.yield(NetworkPath(isOnline: true)) } }
}
