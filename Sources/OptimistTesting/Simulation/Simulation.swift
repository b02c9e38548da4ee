// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB
public import Optimist
import OptimistCore
@_spi(Internals) public import OptimistServing
@_spi(Internals) public import OptimistWire

/// Several devices and a server in one process, on one thread and in virtual time. A seed determines the run.
///
/// A call that takes time advances only virtual time, and returns immediately in real time. The same seed and the same
/// calls give the same run.
///
/// ```swift
/// let simulation = try Simulation(seed: 7, app: app, schema: schema)
/// defer { simulation.end() }
/// let (phone, tablet) = (simulation.device("phone"), simulation.device("tablet"))
/// phone.link.conditions = .flaky
/// try phone.write { db in try Note(text: "Tickets").insert(db) }
/// phone.kill(afterJobs: 20)
/// try simulation.settle()
/// #expect(try tablet.read { db in try Note.fetchCount(db) } == 1)
/// ```
///
/// Create, use and end a simulation on one thread.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class Simulation {
    /// Runs all tasks of the simulation.
    let scheduler: SimulatedScheduler
    /// The server, with one account. It is down if the devices have remotes.
    public let server: SimulatedServer
    private let remotes: Remotes?
    private let book = RemoteBook()
    private let backend: SimulatedProcess
    private let app: SimulatedApp
    private let seed: UInt64
    private var devices: [SimulatedDevice] = []

    /// Creates a simulation and starts its server, with an empty account.
    ///
    /// - Parameters:
    ///   - seed: Determines all randomness.
    ///   - app: The app that every device runs. The server uses the app's validation as well.
    ///   - schema: The server's schema.
    ///   - validate: Refuses rows on the server. Default: none.
    /// - Throws: The server's error if it cannot start.
    public init(
        seed: UInt64, app: SimulatedApp, schema: Schema,
        validate: @escaping @Sendable (RowOperation) -> SetError? = { _ in nil }
    ) throws {
        self.seed = seed
        self.app = app
        remotes = nil
        scheduler = SimulatedScheduler(seed: seed)
        backend = scheduler.process("backend")
        server = SimulatedServer(
            scheduler: scheduler, schema: schema, seed: seed ^ 0x5E8, validate: validate, checks: app.rowValidation)
        try server.start()
    }

    /// Creates a device's remote from the device's name. All remotes belong to one account.
    public typealias Remotes = @Sendable (_ device: String) -> any Remote

    /// Creates a simulation with your own backend.
    ///
    /// The backend runs in a process that is never killed. Its code must not use the real time or start its own tasks;
    /// an actor in memory meets these requirements. Devices, disks and links can fail as usual.
    ///
    /// - Parameters:
    ///   - seed: Determines all randomness.
    ///   - app: The app that every device runs.
    ///   - remotes: Creates the remote of a device. Called once for each device.
    public init(seed: UInt64, app: SimulatedApp, remotes: @escaping Remotes) {
        self.seed = seed
        self.app = app
        self.remotes = remotes
        scheduler = SimulatedScheduler(seed: seed)
        backend = scheduler.process("backend")
        server = SimulatedServer(scheduler: scheduler, schema: Schema(id: "none", types: [:]), seed: seed)
    }

    /// Adds a device, launches the app on it, and waits until the app has opened its database.
    public func device(_ name: String) -> SimulatedDevice {
        let number = UInt64(devices.count + 1)
        let remote = remotes.map { RemoteOfDevice(base: $0(name), backend: backend, book: book) }
        let device = SimulatedDevice(
            name: name, app: app, scheduler: scheduler, server: server, remote: remote,
            seed: seed ^ (number &* 0xD134_2543_DE82_EF95))
        devices.append(device)
        device.start()
        run(for: .seconds(10)) { device.launch != nil }
        return device
    }

    /// Lets virtual time pass.
    ///
    /// - Parameters:
    ///   - duration: Virtual time.
    ///   - isDone: Called after each job. If it returns true, the run ends early.
    public func run(for duration: Duration, until isDone: () -> Bool = { false }) {
        scheduler.run(for: duration, until: isDone)
    }

    /// Ends all faults, launches everything that is down, and lets time pass until nothing is left to send or receive.
    ///
    /// It does not sign in users. If a device cannot receive anything, because its session has ended or its app is too
    /// old, it counts as settled only if it has everything that the server has.
    ///
    /// - Parameter patience: The timeout in virtual time. Default: ten minutes.
    /// - Throws: ``SimulationError/notSettled(_:)`` if a device does not settle in time.
    public func settle(within patience: Duration = .seconds(600)) throws {
        let end = scheduler.now + patience
        for device in devices {
            device.mount?.heal()
            device.link.conditions = .perfect
        }
        var quietRounds = 0
        while quietRounds < 3 {
            guard scheduler.now < end else { throw SimulationError.notSettled(try standings().map(\.description)) }
            if remotes == nil { try server.start() }
            for device in devices { device.start() }
            run(for: .seconds(30))
            quietRounds = try standings().allSatisfy(\.isSettled) ? quietRounds + 1 : 0
        }
    }

    /// Returns each device's sync progress. Advances virtual time.
    private func standings() throws -> [Standing] {
        let present = stateOfServer()
        return try devices.map { try $0.standing(to: present) }
    }

    /// Returns the server's state. Nil if it is down or does not answer.
    private func stateOfServer() -> SyncState? {
        guard let process = server.process else { return nil }
        let outcome = Outcome<SyncState?>()
        process.spawn { [server] in
            do { outcome.set(.success(try await server.present())) } catch { outcome.set(.failure(error)) }
        }
        run(for: .seconds(60)) { outcome.value != nil || !process.isAlive }
        return try? outcome.value?.get()
    }

    /// Frees all resources. Do not use the simulation afterwards.
    public func end() { scheduler.end(devices.flatMap(\.processes) + server.processes + [backend]) }
}

/// An unexpected result in a simulation.
public enum SimulationError: Error {
    /// The app's process died before it finished, or is not running.
    case processDied(device: String)
    /// The work took longer than a minute of virtual time.
    case notDone(device: String)
    /// Something was left to send or receive. Describes each device.
    case notSettled([String])
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension SimulatedDevice {
    /// Performs work in the app's process, and lets virtual time pass until it finishes.
    ///
    /// - Throws: The error of the work, or ``SimulationError``. After `processDied`, the work may or may not have taken
    ///   effect.
    public func perform<Value: Sendable>(
        _ work: @escaping @Sendable (Launch) async throws -> Value
    ) throws -> Value {
        guard let launch else { throw SimulationError.processDied(device: name) }
        let outcome = Outcome<Value>()
        launch.process.spawn {
            do { outcome.set(.success(try await work(launch))) } catch { outcome.set(.failure(error)) }
        }
        scheduler.run(for: .seconds(60)) { outcome.value != nil || !launch.process.isAlive }
        if let result = outcome.value { return try result.get() }
        throw launch.process.isAlive
            ? SimulationError.notDone(device: name) : SimulationError.processDied(device: name)
    }

    /// Writes like the app does.
    ///
    /// - Throws: As ``perform(_:)``.
    @discardableResult
    public func write<Value: Sendable>(_ updates: @escaping @Sendable (Database) throws -> Value) throws -> Value {
        try perform { try await $0.store.write(updates) }
    }

    /// Reads like the app does.
    ///
    /// - Throws: As ``perform(_:)``.
    public func read<Value: Sendable>(_ value: @escaping @Sendable (Database) throws -> Value) throws -> Value {
        try perform { try await $0.store.read(value) }
    }

    /// - Parameter present: The server's state. Nil if it is unknown.
    func standing(to present: SyncState?) throws -> Standing {
        guard launch != nil else { return Standing(device: name) }
        let (status, tableProgress) = try perform { launch in
            (try await launch.engine.statuses.current(), try await launch.store.tableProgress())
        }
        if let behind = behind(of: tableProgress.map(\.table)) {
            return Standing(device: name, status: status, tableProgress: tableProgress, behind: behind)
        }
        return Standing(device: name, status: status, tableProgress: tableProgress, present: present)
    }
}

/// Passes the result of a task to the thread that runs it.
private final class Outcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)
    var value: Result<Value, any Error>? { result.withLock { $0 } }
    func set(_ new: Result<Value, any Error>) { result.withLock { $0 = new } }
}
