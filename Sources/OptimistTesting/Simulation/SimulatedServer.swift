// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
public import OptimistCore
@_spi(Internals) public import OptimistServing
import OptimistSession
@_spi(Internals) public import OptimistWire

/// Sees the answers and pokes of a simulated server.
@_spi(Internals) public protocol ServerWitness: AnyObject, Sendable {
    /// Called before a person's request is carried out. The returned function is called with the response.
    func requestBegins(of person: String) -> @Sendable ([UInt8]) -> Void
    /// Called for each poke of a person's stream.
    func poked(_ person: String, about account: String, in state: SyncState)
}

/// A sync server in a simulation. It uses the real server's code for all decisions, and can be killed and restarted.
///
/// Its rows are in a `SyncStore`, which it opens at every start. Sessions survive restarts.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class SimulatedServer: Sendable {
    /// A response on its way over a link.
    enum Answer: Sendable {
        /// The server is down.
        case down
        /// The server died before it answered.
        case died
        case response(HTTPResponse, [UInt8])
        case stream(HTTPResponse, SimulatedStream)
    }

    /// Opens the store for one start of the server, and begins an epoch.
    @_spi(Internals) public typealias Opening = @Sendable (SimulatedProcess, Dependencies) throws -> any SyncStore

    private struct Running {
        var process: SimulatedProcess
        var store: any SyncStore
        var service: JMAPService
    }

    private struct State {
        var running: Running?
        var sessions = SessionBook()
        var waiting: [Int: @Sendable (Answer) -> Void] = [:]
        var lastRequest = 0
        var streams: [SimulatedStream] = []
        var starts = 0
        var processes: [SimulatedProcess] = []
        var schema: Schema
        var witness: (any ServerWitness)?
    }

    private let scheduler: SimulatedScheduler
    private let pageRows: Int
    private let seed: UInt64
    private let validate: ServingSettings.Validation
    private let checks: RowValidation
    private let open: Opening
    private let state: Mutex<State>

    /// Creates a server that is down.
    ///
    /// - Parameters:
    ///   - scheduler: The scheduler of the simulation.
    ///   - schema: The server's schema.
    ///   - seed: Determines all randomness of the server.
    ///   - pageRows: The maximum number of rows per page. Default: 20,000.
    ///   - validate: Refuses rows. Default: none.
    ///   - checks: The app's validation of its rows. Default: none.
    ///   - open: Opens the store. Default: a store in memory that survives restarts, with one account, `account`.
    @_spi(Internals) public init(
        scheduler: SimulatedScheduler, schema: Schema, seed: UInt64, pageRows: Int = RowSync.Limit.maxPageRows,
        validate: @escaping ServingSettings.Validation = { _ in nil }, checks: RowValidation = RowValidation(),
        open: Opening? = nil
    ) {
        self.scheduler = scheduler
        state = Mutex(State(schema: schema))
        self.pageRows = pageRows
        self.seed = seed
        self.validate = validate
        self.checks = checks
        let memory = InMemorySyncStore(accounts: [SimulatedServer.account], epoch: "e0")
        self.open =
            open ?? { _, dependencies in
                memory.begin(epoch: "e" + dependencies.makeID().uuidString.lowercased().prefix(8))
                return memory
            }
    }

    /// The account of a simulation's only person.
    @_spi(Internals) public static let account = "account"

    /// Sees all answers and pokes. Default: none.
    @_spi(Internals) public var witness: (any ServerWitness)? {
        get { state.withLock { $0.witness } }
        set { state.withLock { $0.witness = newValue } }
    }

    /// The running process. Nil if the server is down.
    @_spi(Internals) public var process: SimulatedProcess? { state.withLock { $0.running?.process } }
    /// The server's schema. A change takes effect at the next start.
    @_spi(Internals) public var schema: Schema {
        get { state.withLock { $0.schema } }
        set { state.withLock { $0.schema = newValue } }
    }
    /// The number of times the server was started.
    @_spi(Internals) public var starts: Int { state.withLock { $0.starts } }
    @_spi(Internals) public var processes: [SimulatedProcess] { state.withLock { $0.processes } }

    /// Starts the server, unless it is running.
    ///
    /// - Throws: The error if the store cannot be opened. The server then stays down.
    public func start() throws {
        guard process == nil else { return }
        let count = state.withLock { state in
            state.starts += 1
            return state.starts
        }
        let process = scheduler.process("server")
        state.withLock { $0.processes.append(process) }
        process.onDeath { [weak self] in self?.died(process) }
        let dependencies = process.dependencies(seed: seed &+ UInt64(count) &* 0x9E37_79B9)
        let store = try open(process, dependencies)
        guard process.isAlive else { return }
        if let memory = store as? InMemorySyncStore { memory.accept(schema) }
        let service = JMAPService(
            store: store,
            settings: ServingSettings(
                schema: schema, makeRowID: { dependencies.makeID().uuidString.lowercased() },
                pageRows: pageRows, workBudget: .unlimited, validate: validate, rowValidation: checks),
            now: dependencies.now)
        state.withLock { $0.running = Running(process: process, store: store, service: service) }
        sweep()
    }

    /// Ends the server as `kill -9` does.
    public func kill() { process?.kill() }

    private func died(_ process: SimulatedProcess) {
        let (waiting, streams) = state.withLock { state in
            defer {
                if state.running?.process === process { state.running = nil }
                (state.waiting, state.streams) = ([:], [])
            }
            return (state.waiting.sorted { $0.key < $1.key }.map(\.value), state.streams)
        }
        for answer in waiting { answer(.died) }
        for stream in streams { stream.cut() }
    }

    /// Nil if the server is down.
    func present() async throws -> SyncState? {
        let service = state.withLock { $0.running?.service }
        return try await service?.state(of: Self.account)
    }

    /// Purges rows that were deleted more than 90 days ago, as the real server does at its start and once an hour.
    /// Devices that were away for longer receive everything again.
    public func sweep() {
        guard let running = state.withLock({ $0.running }) else { return }
        let now = scheduler.wallClock()
        running.process.spawn {
            // If the disk stops a sweep, the next one continues it.
            try? await TombstoneSweep(store: running.store, tombstoneDays: RowSync.Limit.tombstoneDays).run(now: now())
        }
    }

    // MARK: - Sessions

    /// Expires every access token, so that each device must refresh its own.
    ///
    /// - Returns: Whether there was any token.
    @discardableResult
    public func expireAccessTokens() -> Bool { state.withLock { $0.sessions.expireAccessTokens() } }

    /// Ends every session of a device, so that it must sign in again.
    ///
    /// - Returns: Whether the device had a session.
    @discardableResult
    public func revoke(device: String) -> Bool { state.withLock { $0.sessions.revoke(device: device) } }

    // MARK: - Requests

    func receive(
        _ request: TransportRequest, over link: SimulatedLink, _ answer: @escaping @Sendable (Answer) -> Void
    ) {
        guard let running = state.withLock({ $0.running }) else { return answer(.down) }
        let id = state.withLock { state in
            state.lastRequest += 1
            state.waiting[state.lastRequest] = answer
            return state.lastRequest
        }
        running.process.spawn { [self] in
            let result = await respond(to: request, running.service, over: link)
            state.withLock { $0.waiting.removeValue(forKey: id) }?(result)
        }
    }

    private func respond(
        to request: TransportRequest, _ service: JMAPService, over link: SimulatedLink
    ) async -> Answer {
        let path = String((request.head.path ?? "").prefix { $0 != "?" })
        if path.hasPrefix("/auth/") {
            let (status, body) = state.withLock { $0.sessions.answer(path, request.body) }
            return .response(HTTPResponse(status: .init(code: status)), body)
        }
        let token = request.head.headerFields[.authorization]?.split(separator: " ").last.map(String.init)
        guard let token, let person = state.withLock({ $0.sessions.person(of: token) }) else {
            return .response(HTTPResponse(status: .unauthorized), Array("{}".utf8))
        }
        switch path {
        case "/.well-known/jmap":
            guard let resource = try? await service.session(account: person, username: person) else {
                return .response(HTTPResponse(status: .serviceUnavailable), Array("{}".utf8))
            }
            return .response(HTTPResponse(status: .ok), resource.json.bytes)
        case "/jmap/eventsource": return await listen(person, service, over: link)
        default: return await answer(request, of: person, service)
        }
    }

    private func answer(_ request: TransportRequest, of person: String, _ service: JMAPService) async -> Answer {
        let witnessed = witness?.requestBegins(of: person)
        do {
            let outcome = try await service.answer(request.body, as: .person(person))
            witnessed?(outcome.response)
            for change in outcome.changes { await poke(change, service) }
            return .response(HTTPResponse(status: .ok), outcome.response)
        } catch let problem as RequestProblem {
            return .response(HTTPResponse(status: .init(code: problem.status)), problem.json.bytes)
        } catch {
            let head = HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "5"])
            return .response(head, Array("{}".utf8))
        }
    }

    // MARK: - Pokes

    private func listen(_ person: String, _ service: JMAPService, over link: SimulatedLink) async -> Answer {
        let stream = SimulatedStream(person: person, over: link)
        state.withLock { state in
            state.streams.removeAll { !$0.isOpen }
            state.streams.append(stream)
        }
        let head = HTTPResponse(status: .ok, headerFields: [.contentType: "text/event-stream"])
        if let present = try? await service.state(of: person) { stream.send(Self.event(present)) }
        await follow(stream, service)
        keepAlive(stream)
        return .stream(head, stream)
    }

    private func keepAlive(_ stream: SimulatedStream) {
        scheduler.after(.seconds(30)) { [weak self] in
            guard let self, stream.isOpen, state.withLock({ $0.streams.contains { $0 === stream } }) else { return }
            stream.send("event: ping\ndata: {\"interval\":30}\n\n")
            keepAlive(stream)
        }
    }

    /// Pokes the streams that hear of an account. A person who is removed hears of that change, and of none after it.
    private func poke(_ change: JMAPService.AccountChange, _ service: JMAPService) async {
        let streams = state.withLock { state in
            state.streams.removeAll { !$0.isOpen }
            return state.streams
        }
        for stream in streams where stream.person == change.account || stream.spaces.contains(change.account) {
            witness?.poked(stream.person, about: change.account, in: change.state)
            stream.send(Self.event(change.state))
        }
        guard !change.types.isDisjoint(with: Self.membership) else { return }
        for stream in streams { await follow(stream, service) }
    }

    private static let membership: Set<String> = ["optimist_member", "optimist_space"]

    /// Lets a stream hear of the spaces that its person uses and may read.
    private func follow(_ stream: SimulatedStream, _ service: JMAPService) async {
        guard let used = try? await service.usedSpaces(of: stream.person), !used.isEmpty,
            let states = try? await service.states(of: Set(used.keys), as: .person(stream.person))
        else {
            stream.spaces = []
            return
        }
        let new = Set(states.open.keys).subtracting(stream.spaces)
        stream.spaces = Set(states.open.keys)
        for space in new.sorted() { if let state = states.open[space]?.state { stream.send(Self.event(state)) } }
    }

    private static func event(_ state: SyncState) -> String { "event: state\nid: \(state)\ndata: {}\n\n" }
}
