// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import Optimist
import OptimistCore
@_spi(Internals) package import OptimistServing
@_spi(Internals) public import OptimistWire

/// A server in memory, for tests of an app and of Optimist. It uses the real server's code for all decisions, and fails
/// on request.
///
/// Each device uses its own ``InMemoryRemote``. Safe to use from any task.
public final class InMemoryServer: Sendable {
    /// A failure of a request.
    public enum Fault: Sendable, Hashable {
        /// The request never arrives.
        case lost
        /// The server applies the request, but its answer never arrives.
        case answerLost
        /// The request fails with this error and is not applied.
        case failure(RemoteFailure)
    }

    /// A kind of request that can fail.
    public enum Operation: Sendable, Hashable {
        /// `Remote.push`.
        case push
        /// `Remote.pull`.
        case pull
        /// `Remote.snapshot`.
        case snapshot
    }

    private struct State {
        var faults: [Operation: [Fault]] = [:]
        var outage: RemoteFailure?
        var pushes: [RemotePush] = []
        var pulls = 0
        var connects = 0
        var listeners: [Int: @Sendable (RemotePoke) -> Void] = [:]
        var nextListener = 0
    }

    /// Validates a row before it is merged. Returns nil to accept the row. Must not call the server.
    public typealias Validation = @Sendable (RemotePush.Row) -> RemotePush.Verdict?

    private let state = Mutex(State())
    let store = InMemorySyncStore(accounts: [person], epoch: epoch)
    private let service: JMAPService

    /// The person of every remote that names none.
    static let person = "memory"
    private static let epoch = "m"

    /// - Parameters:
    ///   - schema: The server's schema.
    ///   - validate: Refuses rows. Default: none.
    ///   - now: The server's clock. Devices' timestamps that are more than 60 s ahead of it are replaced. Default: the
    ///     real time.
    public convenience init(
        schema: Schema, validate: @escaping Validation = { _ in nil }, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        // The work budget is unlimited, so that tests behave the same on every machine.
        self.init(schema: schema, validate: validate, workBudget: .unlimited, now: now)
    }

    /// - Parameter workBudget: The most work that one push may cause.
    package init(
        schema: Schema, validate: @escaping Validation = { _ in nil }, workBudget: WorkBudget,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        let settings = ServingSettings(
            schema: schema, makeRowID: { UUID().uuidString.lowercased() }, workBudget: workBudget
        ) {
            validate(RemotePush.Row($0)).flatMap { SetError($0) }
        }
        service = JMAPService(store: store, settings: settings, now: now)
    }

    /// Makes the next requests of a kind fail, one fault per request.
    public func inject(_ faults: Fault..., into operation: Operation = .push) {
        state.withLock { $0.faults[operation, default: []] += faults }
    }

    /// Makes every request fail from now on. Nil ends the outage.
    public func setOutage(_ failure: RemoteFailure?) { state.withLock { $0.outage = failure } }

    /// All pushes that arrived. They include repeated pushes, and pushes without rows, which devices with counters send
    /// at each launch to find out whether their file was restored.
    public var pushes: [RemotePush] { state.withLock { $0.pushes } }
    /// The number of times a device connected, or tried to.
    public var connects: Int { state.withLock { $0.connects } }
    /// The number of pulls that arrived.
    public var pulls: Int { state.withLock { $0.pulls } }
    /// The number of the last transaction.
    public var seq: Int64 { (try? store.reading(Self.person, as: .operator) { $0.seq }) ?? 0 }

    /// Returns a table's rows by id, without deleted ones.
    public func rows(_ table: String) -> [String: JSONObject] {
        let rows = try? store.reading(Self.person, as: .operator) { account in
            try account.livingRows(type: table, after: nil, limit: .max, maxBytes: .max).rows.map { row in
                let patch = try JSON(parsing: row.content).object.flatMap { RowPatch(json: $0) }
                return (row.id, patch?.values ?? [:])
            }
        }
        return Dictionary(rows ?? [], uniquingKeysWith: { $1 })
    }

    // MARK: - What a remote asks

    func admit(_ person: String) { store.add(person) }

    func connect(as person: String) throws -> RemoteAccount {
        try state.withLock { state in
            state.connects += 1
            if let outage = state.outage { throw outage }
            var account = RemoteAccount(
                id: "memory#\(person == Self.person ? "1" : person)", initialCursor: "\(Self.epoch).0",
                tables: Set(service.schema.types.keys), schema: service.schema)
            account.ownAccount = person
            return account
        }
    }

    /// Throws if the request must not be applied.
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

    func push(_ push: RemotePush, as person: String) async throws -> RemotePush.Answer {
        let fault = try state.withLock { state in
            let fault = try Self.meet(.push, &state)
            state.pushes.append(push)
            return fault
        }
        let call = PushCall(push, account: person, schemaVersion: service.schema.version)
        let response = try await answer(call.request, as: person)
        if fault == .answerLost { throw RemoteFailure.unreachable("answer lost") }
        return try call.answer(from: response)
    }

    func pull(
        _ requests: [RemotePage.Request], as person: String
    ) async throws -> [Result<RemotePage, RemoteFailure>] {
        let fault = try state.withLock { state in
            state.pulls += 1
            return try Self.meet(.pull, &state)
        }
        let call = PullCall(requests, account: person)
        let response = try await answer(call.request, as: person)
        if fault == .answerLost { throw RemoteFailure.unreachable("answer lost") }
        return call.pages(from: response)
    }

    func changedSpaces(since cursors: [String: String], as person: String) async throws -> ChangedSpaces {
        if let outage = state.withLock({ $0.outage }) { throw outage }
        let call = ChangedCall(since: cursors, account: person)
        return try call.answer(from: try await answer(call.request, as: person))
    }

    func preview(of link: InvitationLink) async throws -> InvitationPreview? {
        if let outage = state.withLock({ $0.outage }) { throw outage }
        let space = link.space.uuidString.lowercased()
        let found = try await service.invitation(to: space, secret: link.secret.text)
        return found.flatMap { InvitationPreview(json: $0.json) }
    }

    func snapshot(_ request: RemoteSnapshot.Request, as person: String) async throws -> RemoteSnapshot {
        let fault = try state.withLock { try Self.meet(.snapshot, &$0) }
        let call = SnapshotPull(request, account: person)
        let response = try await answer(call.request, as: person)
        if fault == .answerLost { throw RemoteFailure.unreachable("answer lost") }
        return try call.page(from: response)
    }

    func answer(_ request: Request, as person: String) async throws -> Response {
        do {
            let outcome = try await service.answer(request.json.bytes, as: .person(person))
            if !outcome.changes.isEmpty {
                for listener in state.withLock({ Array($0.listeners.values) }) { listener(.changed) }
            }
            let json = try JSON(parsing: outcome.response, maxDepth: RowSync.Limit.jsonDepth + 8)
            guard let response = Response(json: json) else {
                throw RemoteFailure.unreachable("unreadable answer")
            }
            return response
        } catch let problem as RequestProblem {
            throw AnswerClass.failure(status: problem.status, retryAfter: nil, body: problem.json.bytes)
                ?? .unreachable(problem.detail)
        }
    }

    /// Returns a closure that removes the listener.
    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) throws -> @Sendable () -> Void {
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

extension RemotePush.Row {
    fileprivate init(_ operation: RowOperation) {
        let change: Change =
            switch operation.action {
            case .create(let patch): .create(patch)
            case .update(let patch): .update(patch)
            case .destroy(let tombstone): .delete(tombstone ?? Tombstone(generation: 0, clock: nil))
            }
        self.init(table: operation.key.type, id: operation.key.id, change: change)
    }
}

extension SetError {
    /// The error that produces a verdict on a device. Nil if the verdict is not an error.
    fileprivate init?(_ verdict: RemotePush.Verdict) {
        switch verdict {
        case .accepted, .merged, .mergedInto: return nil
        case .gone(_, let deletion): self.init("notFound", deletion: deletion)
        case .rejected(let refusal):
            self.init(
                refusal.code, refusal.message, properties: refusal.column.map { [$0] } ?? [], current: refusal.current)
        case .retry(let after, let reason):
            self.init(
                reason?.code ?? "rateLimit", properties: reason?.column.map { [$0] } ?? [],
                retryAfterSeconds: after.map { $0 / .seconds(1) })
        case .lifeUnknown: self.init("lifeUnknown")
        case .leaves(let rows): self.init("behind", blockedBy: rows)
        case .blocked(let by): self.init("blocked", blockedBy: [by])
        case .groupFailed(let by, let current): self.init("groupFailed", blockedBy: by, current: current)
        }
    }
}

/// A device's connection to an ``InMemoryServer``, which can be taken offline.
public final class InMemoryRemote: Remote {
    private let server: InMemoryServer
    private let person: String
    private let cut = Mutex<RemoteFailure?>(nil)
    private let attemptCount = Mutex(0)

    /// Creates a connection, which is online. All such connections are of one person.
    public init(_ server: InMemoryServer) {
        self.server = server
        person = InMemoryServer.person
    }

    /// Creates a connection, which is online.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - person: The name of the person whose account and spaces the device uses.
    public init(_ server: InMemoryServer, person: String) {
        self.server = server
        self.person = person
        server.admit(person)
    }

    /// Whether the device is online.
    public var isOnline: Bool {
        get { cut.withLock { $0 == nil } }
        set { cut.withLock { $0 = newValue ? nil : .notSent("offline") } }
    }

    /// The number of requests tried, whether or not they arrived.
    public var attempts: Int { attemptCount.withLock { $0 } }

    /// The same guarantees as the real server's.
    public var guarantees: RemoteGuarantees { RemoteGuarantees(hasOrderedCursors: true, pagesHaveOwnChanges: true) }

    private func cross() throws {
        attemptCount.withLock { $0 += 1 }
        if let failure = cut.withLock({ $0 }) { throw failure }
    }

    public func connect() async throws -> RemoteAccount {
        if let failure = cut.withLock({ $0 }) { throw failure }
        return try server.connect(as: person)
    }

    public func push(_ push: RemotePush) async throws -> RemotePush.Answer {
        try cross()
        return try await server.push(push, as: person)
    }

    public func pull(_ request: RemotePage.Request) async throws -> RemotePage {
        try cross()
        guard let page = try await server.pull([request], as: person).first else {
            throw RemoteFailure.unreachable("no page")
        }
        return try page.get()
    }

    public func pullAll(_ requests: [RemotePage.Request]) async throws -> [Result<RemotePage, RemoteFailure>] {
        try cross()
        return try await server.pull(requests, as: person)
    }

    public func changedSpaces(since cursors: [String: String]) async throws -> ChangedSpaces {
        try cross()
        return try await server.changedSpaces(since: cursors, as: person)
    }

    public func preview(of link: InvitationLink) async throws -> InvitationPreview? {
        try cross()
        return try await server.preview(of: link)
    }

    public func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        try cross()
        return try await server.snapshot(request, as: person)
    }

    public func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws {
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
