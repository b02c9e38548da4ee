// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistSession
import OptimistTesting
import Testing

@testable import OptimistCore

/// A small server that issues tokens, counts requests, and fails on demand.
final class FakeServer: Sendable {
    struct Books {
        var generation = 1
        /// Tokens up to this generation are refused.
        var refusedUpTo = 0
        /// The answer to a request with a refused token.
        var refusal: @Sendable () -> TransportResponse = { TransportResponse(.unauthorized) }
        var refreshes = 0
        var revocations = 0
        var paths: [String: Int] = [:]
        /// Answers to the next refreshes; after these the server answers normally.
        var refreshAnswers: [@Sendable () async throws -> TransportResponse] = []
        /// Answers to the next requests.
        var answers: [@Sendable () async throws -> TransportResponse] = []
        /// Formats each answer's `Date` field. With nil, answers have none.
        var stamp: (@Sendable (Date) -> String)?
    }

    let books = Mutex(Books())

    var refreshes: Int { books.withLock { $0.refreshes } }
    var generation: Int { books.withLock { $0.generation } }
    func sends(_ path: String) -> Int { books.withLock { $0.paths[path] ?? 0 } }
    func refuse(upTo generation: Int) { books.withLock { $0.refusedUpTo = generation } }
    func onRefresh(_ answer: @escaping @Sendable () async throws -> TransportResponse) {
        books.withLock { $0.refreshAnswers.append(answer) }
    }
    func onRequest(_ answer: @escaping @Sendable () async throws -> TransportResponse) {
        books.withLock { $0.answers.append(answer) }
    }

    func stamp(_ stamp: @escaping @Sendable (Date) -> String) { books.withLock { $0.stamp = stamp } }

    func handle(_ request: TransportRequest, at time: Date) async throws -> TransportResponse {
        var answer = try await handle(request)
        if let stamp = books.withLock({ $0.stamp }) { answer.head.headerFields[.date] = stamp(time) }
        return answer
    }

    func handle(_ request: TransportRequest) async throws -> TransportResponse {
        let path = request.head.path ?? ""
        books.withLock { $0.paths[path, default: 0] += 1 }
        switch path {
        case "/auth/sign-in", "/auth/sign-up": return .tokens("\(generation)", account: "a1")
        case "/auth/token": return try await refresh(String(decoding: request.body, as: UTF8.self))
        case "/auth/revoke":
            books.withLock { $0.revocations += 1 }
            return TransportResponse(.ok)
        default: return try await answer(request)
        }
    }

    private func refresh(_ form: String) async throws -> TransportResponse {
        let planned = books.withLock { books in
            books.refreshes += 1
            return books.refreshAnswers.isEmpty ? nil : books.refreshAnswers.removeFirst()
        }
        if let planned { return try await planned() }
        let isCurrent = books.withLock { books in
            guard form == "grant_type=refresh_token&refresh_token=refresh-\(books.generation)" else { return false }
            books.generation += 1
            return true
        }
        return isCurrent ? .tokens("\(generation)", account: "a1") : .invalidGrant("reuse_detected")
    }

    private func answer(_ request: TransportRequest) async throws -> TransportResponse {
        let planned = books.withLock { $0.answers.isEmpty ? nil : $0.answers.removeFirst() }
        if let planned { return try await planned() }
        let token = request.head.headerFields[.authorization]?.split(separator: "-").last.flatMap { Int($0) } ?? 0
        let (isAccepted, refusal) = books.withLock { books in
            (token > books.refusedUpTo && token <= books.generation, books.refusal)
        }
        return isAccepted ? TransportResponse(.ok, "hello") : refusal()
    }
}

extension TransportResponse {
    /// Tokens that expire in 900 s, named "access-" and "refresh-" plus `name`.
    static func tokens(_ name: String, account: String) -> Self {
        Self(
            .ok,
            #"{"access_token":"access-\#(name)","token_type":"Bearer","expires_in":900,"#
                + #""refresh_token":"refresh-\#(name)","account_id":"\#(account)"}"#)
    }

    static func invalidGrant(_ reason: String) -> Self {
        TransportResponse(.badRequest, #"{"error":"invalid_grant","reason":"\#(reason)"}"#)
    }
}

extension InMemoryTransport {
    /// Creates a transport with a manual clock, so that a delayed answer never times out.
    static func unhurried(_ handler: @escaping Handler) -> InMemoryTransport {
        InMemoryTransport(dependencies: Dependencies(clock: ManualClock()), handler)
    }
}

/// A session on a fake server, with a clock that moves only when the test advances it.
struct Bench {
    let server = FakeServer()
    let clock = ManualClock()
    let store: any CredentialStore
    let transport: InMemoryTransport
    let reachability = ManualReachability()
    let session: Session

    // The literal is a valid URL.
    // swift-format-ignore: NeverForceUnwrap
    static let address = URL(string: "http://localhost:8080")!

    init(
        signedIn: Bool = true, store: (any CredentialStore)? = nil,
        configuration: SessionConfiguration = SessionConfiguration()
    ) {
        let store = store ?? InMemoryCredentialStore(signedIn ? .first : nil)
        let server = server
        let clock = clock
        let now: @Sendable () -> Date = { Date(timeIntervalSince1970: 1_800_000_000 + clock.elapsed / .seconds(1)) }
        let transport = InMemoryTransport.unhurried { try await server.handle($0, at: now()) }
        self.store = store
        self.transport = transport
        session = Session(
            server: Self.address, transport: transport, credentials: store, configuration: configuration,
            reachability: reachability,
            dependencies: Dependencies(clock: clock, now: now, seed: 7))
    }

    /// Sends `count` requests concurrently and returns their results.
    func send(_ count: Int, _ request: SessionRequest = SessionRequest("/rows")) async -> [Result<Int, any Error>] {
        await withTaskGroup(of: Result<Int, any Error>.self) { group in
            for _ in 0..<count {
                group.addTask { [session] in
                    do {
                        return .success(try await session.send(request).head.status.code)
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    func reaches(_ isWanted: (SessionState) -> Bool) async {
        for await state in session.states where isWanted(state) { return }
        Issue.record("the states ended before the expected state")
    }
}

extension Credentials {
    static let first = Credentials(
        accessToken: Secret("access-1"), refreshToken: Secret("refresh-1"), expiresAt: nil, lifetime: nil,
        account: Account(id: "a1", email: "ada@example.com"), origin: Bench.address.absoluteString)
}

/// Lets a test delay an answer until it opens the door.
final class Door: Sendable {
    private let state = Mutex<
        (isOpen: Bool, waiting: [CheckedContinuation<Void, Never>], watchers: [CheckedContinuation<Void, Never>])
    >(
        (false, [], []))

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for wake in waiting { wake.resume() }
    }

    func pass() async {
        await withCheckedContinuation { wake in
            let (isOpen, watchers) = state.withLock { state in
                if !state.isOpen { state.waiting.append(wake) }
                defer { state.watchers = [] }
                return (state.isOpen, state.watchers)
            }
            if isOpen { wake.resume() }
            for watcher in watchers { watcher.resume() }
        }
    }

    /// Waits until a request has reached the door.
    func knock() async {
        await withCheckedContinuation { wake in
            let isThere = state.withLock { state in
                if state.waiting.isEmpty { state.watchers.append(wake) }
                return !state.waiting.isEmpty
            }
            if isThere { wake.resume() }
        }
    }
}

extension Result where Failure == any Error {
    var error: OptimistError? {
        if case .failure(let error) = self { error as? OptimistError } else { nil }
    }
    var value: Success? { try? get() }
}
