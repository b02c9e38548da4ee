// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import Optimist
public import OptimistWire
import Synchronization

/// A server in memory, for tests of an app and of Optimist: it merges as the real one does, and fails when it is told to.
///
/// Each device gets a ``InMemoryRemote`` to it. Safe to use from any task.
public final class InMemoryServer: Sendable {
    /// What happens to a request.
    public enum Fault: Sendable, Hashable {
        /// Never arrives.
        case lost
        /// Is applied, and the answer never arrives.
        case answerLost
        /// Fails with this error before it is applied.
        case failure(RemoteFailure)
    }

    /// What a fault meets.
    public enum Operation: Sendable, Hashable { case push, pull }

    private struct StoredRow {
        var row: MergeRow
        var seq: Int64
    }

    private struct State {
        var seq: Int64 = 0
        var rows: [String: [String: StoredRow]] = [:]
        var faults: [Operation: [Fault]] = [:]
        var outage: RemoteFailure?
        var pushes: [Push] = []
        var pulls = 0
        var connects = 0
        var listeners: [Int: @Sendable (Poke) -> Void] = [:]
        var nextListener = 0
    }

    /// Judges a row before it is merged. Nil: it may be.
    public typealias Validation = @Sendable (PushRow) -> Verdict?

    private let state = Mutex(State())
    private let validate: Validation

    /// - Parameter validate: Refuses rows. Default: none.
    public init(validate: @escaping Validation = { _ in nil }) { self.validate = validate }

    /// Lets the next pushes or pulls fail, each in its way.
    public func inject(_ faults: Fault..., into operation: Operation = .push) {
        state.withLock { $0.faults[operation, default: []] += faults }
    }

    /// Lets every request fail from now on. Nil ends the outage.
    public func setOutage(_ failure: RemoteFailure?) { state.withLock { $0.outage = failure } }

    /// Every push that arrived, repeated ones too.
    public var pushes: [Push] { state.withLock { $0.pushes } }
    /// How often a device connected, or tried to.
    public var connects: Int { state.withLock { $0.connects } }
    /// How many pulls arrived.
    public var pulls: Int { state.withLock { $0.pulls } }
    /// The number of the last transaction.
    public var seq: Int64 { state.withLock { $0.seq } }

    /// The living rows of a table by id.
    public func rows(_ table: String) -> [String: JSONObject] {
        state.withLock { state in
            (state.rows[table] ?? [:]).filter(\.value.row.isAlive).mapValues { Self.values($0.row) }
        }
    }

    private static func values(_ row: MergeRow) -> JSONObject {
        JSONObject(row.cells.sorted { $0.key < $1.key }.map { ($0.key, $0.value.value) })
    }

    // MARK: - What a remote asks

    func connect() throws -> RemoteAccount {
        try state.withLock { state in
            state.connects += 1
            if let outage = state.outage { throw outage }
            return RemoteAccount(id: "memory#1", initialCursor: "m.0")
        }
    }

    /// Takes the next fault. Throws if the request is not to be applied.
    private static func meet(_ operation: Operation, _ state: inout State) throws -> Fault? {
        if let outage = state.outage { throw outage }
        let fault = state.faults[operation]?.first
        if fault != nil { state.faults[operation]?.removeFirst() }
        switch fault {
        case .lost: throw RemoteFailure.unreachable("lost")
        case .failure(let failure): throw failure
        case .answerLost, nil: return fault
        }
    }

    func push(_ push: Push) throws -> [Verdict] {
        let (verdicts, fault, listeners) = try state.withLock { state in
            let fault = try Self.meet(.push, &state)
            state.pushes.append(push)
            let seq = state.seq + 1
            let verdicts = push.rows.map { validate($0) ?? Self.merge($0, seq, &state) }
            let changed = state.rows.values.contains { $0.values.contains { $0.seq == seq } }
            if changed { state.seq = seq }
            return (verdicts, fault, changed ? Array(state.listeners.values) : [])
        }
        for listener in listeners { listener(.changed) }
        if fault == .answerLost { throw RemoteFailure.unreachable("answer lost") }
        return verdicts
    }

    private static func merge(_ row: PushRow, _ seq: Int64, _ state: inout State) -> Verdict {
        var stored = state.rows[row.table]?[row.id] ?? StoredRow(row: MergeRow(), seq: 0)
        let incoming = incoming(row.change)
        if stored.row.generation > incoming.generation { return .gone }
        let outcome = stored.row.merge(incoming)
        if outcome.changedAnything { stored.seq = seq }
        state.rows[row.table, default: [:]][row.id] = stored
        if outcome.refused.isEmpty { return .accepted(seq: stored.seq) }
        let won = stored.row.cells.filter { outcome.refused.contains($0.key) }
        return .merged(
            seq: stored.seq,
            RowPatch(
                generation: stored.row.generation, clocks: ColumnClocks(packing: won.mapValues(\.clock)),
                values: JSONObject(won.sorted { $0.key < $1.key }.map { ($0.key, $0.value.value) })))
    }

    private static func incoming(_ change: PushRow.Change) -> MergeRow {
        switch change {
        case .delete(let tombstone): return MergeRow(generation: tombstone.generation, deletion: tombstone.clock)
        case .create(let patch), .update(let patch):
            var cells: [String: Cell] = [:]
            for (name, value) in patch.values {
                if let clock = patch.clocks?[name] { cells[name] = Cell(value, clock) }
            }
            return MergeRow(generation: patch.generation ?? 1, cells: cells)
        }
    }

    func pull(_ request: PullRequest) throws -> Page {
        try state.withLock { state in
            state.pulls += 1
            let fault = try Self.meet(.pull, &state)
            let since = SyncState(request.cursor)?.seq ?? 0
            let changed = request.tables.flatMap { table in
                (state.rows[table] ?? [:]).filter { $0.value.seq > since }.map {
                    (table: table, id: $0.key, stored: $0.value)
                }
            }.sorted { ($0.stored.seq, $0.id) < ($1.stored.seq, $1.id) }
            let end = changed.count > request.limit ? changed[request.limit - 1].stored.seq : state.seq
            if fault == .answerLost { throw RemoteFailure.unreachable("answer lost") }
            return Page(
                from: request.cursor, cursor: "m.\(end)", hasMore: end < state.seq,
                rows: changed.filter { $0.stored.seq <= end }.map { Self.pageRow($0.table, $0.id, $0.stored) })
        }
    }

    private static func pageRow(_ table: String, _ id: String, _ stored: StoredRow) -> PageRow {
        guard stored.row.isAlive else {
            let tombstone = Tombstone(generation: stored.row.generation, clock: stored.row.deletion, seq: stored.seq)
            return PageRow(table: table, id: id, content: .deleted(tombstone))
        }
        let patch = RowPatch(
            generation: stored.row.generation, clocks: ColumnClocks(packing: stored.row.cells.mapValues(\.clock)),
            seq: stored.seq, values: values(stored.row))
        return PageRow(table: table, id: id, content: .row(patch))
    }

    /// Adds a listener. Returns what removes it.
    func listen(_ receive: @escaping @Sendable (Poke) -> Void) throws -> @Sendable () -> Void {
        let id = try state.withLock { state in
            if let outage = state.outage { throw outage }
            state.nextListener += 1
            state.listeners[state.nextListener] = receive
            return state.nextListener
        }
        receive(.alive)
        return { [weak self] in _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) } }
    }
}

/// One device's way to an ``InMemoryServer``, which can be cut.
public final class InMemoryRemote: Remote {
    private let server: InMemoryServer
    private let cut = Mutex<RemoteFailure?>(nil)
    private let attemptCount = Mutex(0)

    public init(_ server: InMemoryServer) { self.server = server }

    /// Whether the device has a network.
    public var isOnline: Bool {
        get { cut.withLock { $0 == nil } }
        set { cut.withLock { $0 = newValue ? nil : .notSent("offline") } }
    }

    /// How many pushes and pulls were tried, whether or not they arrived.
    public var attempts: Int { attemptCount.withLock { $0 } }

    private func cross() throws {
        attemptCount.withLock { $0 += 1 }
        if let failure = cut.withLock({ $0 }) { throw failure }
    }

    public func connect() async throws -> RemoteAccount {
        if let failure = cut.withLock({ $0 }) { throw failure }
        return try server.connect()
    }

    public func push(_ push: Push) async throws -> PushAnswer {
        try cross()
        return PushAnswer(try server.push(push))
    }

    public func pull(_ request: PullRequest) async throws -> Page {
        try cross()
        return try server.pull(request)
    }

    public func listen(_ receive: @escaping @Sendable (Poke) -> Void) async throws {
        if let failure = cut.withLock({ $0 }) { throw failure }
        let stop = try server.listen { [weak self] poke in
            if self?.isOnline == true { receive(poke) }
        }
        defer { stop() }
        let (forever, continuation) = AsyncStream<Void>.makeStream()
        defer { continuation.finish() }
        for await _ in forever {}
        try Task.checkCancellation()
    }
}

/// A hint that a test gives by hand. Online until it says otherwise.
public final class ManualReachability: Reachability {
    private let continuations = Mutex<[AsyncStream<Bool>.Continuation]>([])

    public init() {}

    public var updates: AsyncStream<Bool> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            continuation.yield(true)
            continuations.withLock { $0.append(continuation) }
        }
    }

    public func say(isOnline: Bool) {
        for continuation in continuations.withLock({ $0 }) { continuation.yield(isOnline) }
    }
}
