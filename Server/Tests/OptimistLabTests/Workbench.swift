// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Logging
import Optimist
import OptimistCore
@_spi(Internals) import OptimistServing
import OptimistSession
@_spi(Internals) import OptimistTesting
import OptimistWire
import Synchronization
import Testing

@testable import OptimistLab
@testable import OptimistServer

/// A real server, and the lab's phones, in one process without a proxy.
struct Workbench: Sendable {
    let server: OptimistServer
    let address: URL
    let folder: URL

    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Runs a server that allows one device per account during `body`.
    static func whereOneDeviceIsAllowed(_ body: (Workbench) async throws -> Void) async throws {
        try await with({ $0.allowsOneDeviceOnly = true }, body)
    }

    /// Runs a server during `body`.
    static func with(
        _ change: (inout ServerConfiguration) -> Void, _ body: (Workbench) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = ServerConfiguration(
            port: 0, storage: .directory(folder.appending(path: "server")), schema: .planner, logger: quiet)
        // Sessions run in real time here, so the server must be fast even on a busy machine.
        configuration.passwordCost = .trivial
        configuration.workBudget = .unlimited
        change(&configuration)
        let server = try await OptimistServer(configuration: configuration)
        let running = Task { try await server.run() }
        let address = try #require(URL(string: "http://127.0.0.1:\(try await server.port)"))
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(Workbench(server: server, address: address, folder: folder)))
        } catch { result = .failure(error) }
        await server.shutdown()
        try await running.value
        try result.get()
    }

    /// Switches a phone on.
    ///
    /// - Parameter hasStream: Whether its requests for the event stream reach the server.
    func phone(_ name: String, hasStream: Bool = true) throws -> TestedPhone {
        let own = folder.appending(path: name)
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
        let (wire, network, newsroom) = (Wire(hasStream: hasStream), LabNetwork(), Newsroom())
        let phone = try RunningPhone(
            folder: own, server: address,
            credentials: FileCredentialStore(at: own.appending(path: "credentials")), transport: wire,
            network: network, diary: SessionDiary(),
            news: NewsDesk(device: name, started: .now, room: newsroom), logger: Self.quiet)
        return TestedPhone(phone: phone, wire: wire, network: network, news: newsroom.follow().news)
    }

    /// The contents of an account's rows on the server.
    func contents() async throws -> [String] {
        let account = try #require(try await server.accounts().first)
        return try await server.rows(account: account.id, type: "todo").compactMap {
            $0.patch.values["content"]?.string
        }.sorted()
    }
}

/// A phone with its requests and its timeline.
struct TestedPhone: Sendable {
    let phone: RunningPhone
    let wire: Wire
    let network: LabNetwork
    let news: AsyncStream<DeviceNews>

    func write(_ content: String) async throws {
        _ = try await phone.add(LabTodo(id: UUID(), content: content, date: "2026-11-22"))
    }

    var outbox: [String] {
        get async throws { try await phone.store.pendingRows().map(\.rowID).sorted() }
    }

    func until(_ isReached: (SyncStatus) -> Bool) async {
        for await status in phone.sync.statuses where isReached(status) { return }
        Issue.record("the status ended before the one that was waited for")
    }

    func untilSynced() async {
        await until { $0.phase == .idle && $0.counts.pending == 0 && $0.counts.lastSync != nil }
    }

    func untilPaused() async {
        await until { status in
            if case .paused = status.phase { return true }
            return false
        }
    }

    func untilSignedOut() async -> SignOutReason? {
        for await state in phone.session.states {
            if case .signedOut(let reason) = state, reason != .neverSignedIn { return reason }
        }
        return nil
    }

    /// The timeline's lines about the session, up to a given line. Continues where the last call ended.
    func said(upTo last: String) async -> [String] {
        var lines: [String] = []
        for await case .timeline(let event) in news where event.kind == .session {
            lines.append(event.text ?? "")
            if event.text == last { break }
        }
        return lines
    }
}

/// Sends a phone's requests, and records their answers.
final class Wire: Transport {
    private let hasStream: Bool
    private let gate = Mutex((isShut: false, underWay: 0))
    private let answered = Mutex<[Int]>([])
    private let sent = Mutex(0)

    init(hasStream: Bool) { self.hasStream = hasStream }

    /// The number of requests that have left the phone.
    var requests: Int { sent.withLock(\.self) }

    /// The number of requests refused for their token.
    var refusals: Int { answered.withLock { $0.count { $0 == 401 } } }

    /// Holds every request except those for the event stream. Returns when requests in flight are answered.
    func shut() async {
        gate.withLock { $0.isShut = true }
        while gate.withLock({ $0.underWay > 0 }) { await Task.yield() }
    }

    /// Lets new requests through again, but not those that were held.
    func open() { gate.withLock { $0.isShut = false } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if request.head.path?.contains("eventsource") == true {
            guard hasStream else { throw TransportError(.broken, .maybeProcessed) }
            return try await carry(request)
        }
        try await pass()
        defer { gate.withLock { $0.underWay -= 1 } }
        return try await carry(request)
    }

    private func carry(_ request: TransportRequest) async throws -> TransportResponse {
        sent.withLock { $0 += 1 }
        var request = request
        request.headTimeout = .seconds(300)
        let answer = try await AsyncHTTPClientTransport.shared.send(request)
        answered.withLock { $0.append(answer.head.status.code) }
        return answer
    }

    /// If the wire is open, counts the request as in flight. If it is shut, waits until it opens and then throws.
    private func pass() async throws {
        let isHeld = gate.withLock { gate in
            if !gate.isShut { gate.underWay += 1 }
            return gate.isShut
        }
        guard isHeld else { return }
        while gate.withLock(\.isShut), !Task.isCancelled { await Task.yield() }
        throw TransportError(.broken, .notSent)
    }
}
