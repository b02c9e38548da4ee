// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Synchronization

/// Devices, a server, and the networks between them. Its ``Users`` write, and judge what becomes of their rows.
final class World: Sendable {
    struct State {
        var users: (any Users)?
        var findings: [String] = []
        var isHealed = false
        /// The devices that have not been switched on yet.
        var toCome: Set<Int> = []
        var reached: [String: Int] = [:]
        var log: [String] = []
        /// The last sync status of each running app, by device.
        var statuses: [Int: SyncStatus] = [:]
        /// The number of changes on each disk when the judges last read it.
        var looked: [String: Int] = [:]
        /// The launch whose status is observed, by device.
        var followed: [Int: Int] = [:]
    }

    let plan: Plan
    let app: UsersApp
    let scheduler: SimulatedScheduler
    let server: SimulatedServer
    let data: any ServerData
    let devices: [SimulatedDevice]
    private let files = JudgeFiles()
    private let state = Mutex(State())
    private let isLogging: Bool

    /// - Parameter data: The server's storage. Default: a file on a simulated disk.
    init(_ plan: Plan, _ app: UsersApp, isLogging: Bool, data: (any ServerData)? = nil) {
        self.plan = plan
        self.app = app
        self.isLogging = isLogging
        let scheduler = SimulatedScheduler(seed: plan.seed)
        let data = data ?? ServerOnDisk(seed: plan.seed ^ 0x5E7, persons: app.persons)
        let commits = Commits()
        let server = SimulatedServer(
            scheduler: scheduler, schema: app.schema(1), seed: plan.seed ^ 0x5E8,
            pageRows: plan.pageRows ?? RowSync.Limit.maxPageRows, validate: Self.validate
        ) { process, dependencies in
            WatchedStore(store: try data.open(process, dependencies), committed: { commits.happened() })
        }
        self.scheduler = scheduler
        self.data = data
        self.server = server
        self.commits = commits
        devices = (0..<plan.devices).map { number in
            SimulatedDevice(
                name: "device \(number)", app: app.app(1), scheduler: scheduler, server: server,
                person: app.person(of: number),
                seed: plan.seed ^ (UInt64(number + 1) &* 0xD134_2543_DE82_EF95))
        }
        withState { $0.toCome = Set(plan.events.filter { $0.kind == .join }.map(\.device)) }
        commits.watch { [weak self] in self?.lookAtServer() }
    }

    /// The users keep the world, and the world keeps its users until it ends.
    func inhabit(by users: any Users) { withState { $0.users = users } }

    var users: (any Users)? { state.withLock(\.users) }

    /// Notifies a watcher of the server's commits.
    final class Commits: Sendable {
        private let watcher = Mutex<@Sendable () -> Void>({})

        func watch(_ watcher: @escaping @Sendable () -> Void) { self.watcher.withLock { $0 = watcher } }
        func happened() { watcher.withLock(\.self)() }
    }
    let commits: Commits

    private static let validate: ServingSettings.Validation = { operation in
        guard case .create(let patch) = operation.action else {
            guard case .update(let patch) = operation.action else { return nil }
            return refusal(patch)
        }
        return refusal(patch)
    }

    private static func refusal(_ patch: RowPatch) -> SetError? {
        for (column, value) in patch.values where value.string?.hasPrefix(Refusals.prefix) == true {
            return SetError("forbidden", "The word is not allowed.", properties: [column])
        }
        return nil
    }

    // MARK: - State

    func withState<Result: Sendable>(_ body: (inout State) -> sending Result) -> Result { state.withLock { body(&$0) } }

    var isHealed: Bool { state.withLock(\.isHealed) }

    /// Counts an applied event. Faults of disks, networks and processes are counted where they occur.
    func reach(_ kind: Plan.Kind) { state.withLock { $0.reached[kind.rawValue, default: 0] += 1 } }

    func find(_ finding: String) { state.withLock { $0.findings.append(finding) } }

    /// Adds a line to the log of the run.
    func log(_ line: @autoclosure () throws -> String) rethrows {
        guard isLogging else { return }
        let (seconds, attoseconds) = scheduler.now.components
        let time = Double(seconds) + Double(attoseconds) / 1e18
        let text = try String(format: "%9.3f  ", time) + line()
        state.withLock { $0.log.append(text) }
    }

    /// Records the server's commits. If the server died during a commit, the commit counts only once the next server
    /// has started: no device has seen it, and a power loss may still undo it.
    private func lookAtServer() {
        if server.process == nil { return }
        do { try users?.serverHasCommitted() } catch { find("the judges cannot read the server: \(error)") }
    }

    static func text(_ values: Values?) -> String {
        values.map { values in
            values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value ?? "null")" }.joined(separator: " ")
        } ?? "deleted"
    }

    func read<Value>(_ device: SimulatedDevice, _ read: (Database) throws -> Value) throws -> Value {
        try files.read(
            SimulatedDevice.fileName, on: device.disk, of: device.name, while: device.launch?.process, read)
    }
}

/// Reports each commit, so that the judges see every state of the server.
private struct WatchedStore: SyncStore {
    let store: any SyncStore
    let committed: @Sendable () -> Void

    var epoch: String { store.epoch }

    func read<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
        _ work: @escaping @Sendable (OpenAccounts<any AccountSnapshot>) throws -> Answer
    ) async throws -> Answer {
        try await store.read(accounts: accounts, as: reader, entering: entrances, work)
    }

    func write<Answer: Sendable>(
        accounts: Set<String>, as reader: Reader, entering entrances: Entrances,
        _ work: @escaping @Sendable (OpenAccounts<any AccountTransaction>) throws -> Answer
    ) async throws -> Answer {
        defer { committed() }
        return try await store.write(accounts: accounts, as: reader, entering: entrances, work)
    }

    func states(of accounts: Set<String>, as reader: Reader) async throws -> OpenAccounts<AccountState> {
        try await store.states(of: accounts, as: reader)
    }

    func accounts(after id: String?, limit: Int) async throws -> [String] {
        try await store.accounts(after: id, limit: limit)
    }
}
