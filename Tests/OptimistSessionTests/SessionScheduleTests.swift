// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistSession
import TestForm
import Testing

@testable import OptimistCore
@_spi(Internals) @testable import OptimistTesting

/// A session whose account changes while a token is renewed and requests come and go, in random order.
@Suite(.timeLimit(.minutes(20)))
struct SessionScheduleTests {
    @Test func `T3 T8: after a sign-out or account change, no request gets the previous account's answer or hangs`() {
        for seed in 1...TestForm.of(short: 200, full: 1_000, soak: 10_000) as ClosedRange<UInt64> {
            let problems = Schedule(seed: seed).play()
            guard !problems.isEmpty else { continue }
            Issue.record("seed \(seed): \(problems.joined(separator: "; "))")
            return
        }
    }
}

/// Twelve requests, half of them cancelled, and an account change, all within half a second, partly during a refresh.
private final class Schedule: Sendable {
    private enum Change: CaseIterable { case signOut, signIn, signOutAndIn }

    private struct Books {
        var ended = 0
        /// Whether later answers no longer count.
        var isOver = false
        var problems: [String] = []
    }

    private static let requests = 12
    private let books = Mutex(Books())
    private let random: Mutex<SplitMix64>
    private let scheduler: SimulatedScheduler
    private let process: SimulatedProcess
    private let dependencies: Dependencies
    private let store = InMemoryCredentialStore(.first)
    private let server = TwoAccounts()

    init(seed: UInt64) {
        random = Mutex(SplitMix64(seed: seed))
        scheduler = SimulatedScheduler(seed: seed)
        process = scheduler.process("phone")
        dependencies = process.dependencies(seed: seed)
    }

    func play() -> [String] {
        let network = InMemoryTransport(dependencies: dependencies) { [self] in try await answer(to: $0) }
        let transport = WatchedTransport(base: network) { [self] in watch($0) }
        let session = Session(
            server: Bench.address, transport: transport, credentials: store,
            configuration: SessionConfiguration(slots: 4), dependencies: dependencies)
        for number in 0..<Self.requests { ask(number, session) }
        let change = draw { Change.allCases.randomElement(using: &$0) } ?? .signOut
        process.spawn { [self] in await make(change, session) }
        scheduler.run(for: .seconds(300))
        let problems = books.withLock { books in
            if books.ended < Self.requests + 1 { books.problems.append("\(books.ended) have ended") }
            let expected = change == .signOut ? nil : "a2"
            if store.load()?.account.id != expected {
                books.problems.append("kept: \(store.load()?.account.id ?? "-")")
            }
            if session.account?.id != expected { books.problems.append("signed in: \(session.state)") }
            return books.problems
        }
        scheduler.end([process])
        return problems
    }

    private func draw<Value>(_ value: (inout SplitMix64) -> Value) -> Value { random.withLock { value(&$0) } }

    private func pause(upTo milliseconds: Int) async {
        let delay = draw { Int.random(in: 0...milliseconds, using: &$0) }
        try? await dependencies.clock.sleep(for: .milliseconds(delay))
    }

    private func problem(_ text: String) { books.withLock { $0.problems.append(text) } }

    private func make(_ change: Change, _ session: Session) async {
        await pause(upTo: 500)
        do {
            if change != .signIn { try await session.signOut() }
            if change == .signOut { books.withLock { $0.isOver = true } }
            if change != .signOut { try await session.signIn(email: "grace@example.com", password: "secret") }
            books.withLock { $0.isOver = true }
        } catch {
            problem("\(change) failed: \(error)")
        }
        books.withLock { $0.ended += 1 }
    }

    private func ask(_ number: Int, _ session: Session) {
        let (begins, isCancelled) = draw { (Int.random(in: 0...500, using: &$0), Bool.random(using: &$0)) }
        let cancelledAt = Mutex<Duration?>(nil)
        let request = process.spawn { [self] in
            try? await dependencies.clock.sleep(for: .milliseconds(begins))
            let isLate = books.withLock { $0.isOver }
            do {
                let answer = try await session.send(SessionRequest("/rows"))
                let account = String(decoding: answer.body, as: UTF8.self)
                if isLate, account != "a2" { problem("\(number), asked after the change, got \(account)'s answer") }
                if account == "a1", books.withLock({ $0.isOver }) { problem("\(number) got an answer of the former") }
            } catch {
                if isLate, store.load() != nil, !(error is CancellationError) { problem("\(number) failed: \(error)") }
            }
            if let time = cancelledAt.withLock({ $0 }), time != scheduler.now {
                problem("\(number) came back \(scheduler.now - time) after it was cancelled")
            }
            books.withLock { $0.ended += 1 }
        }
        guard isCancelled else { return }
        process.spawn { [self] in
            await pause(upTo: 700)
            cancelledAt.withLock { $0 = scheduler.now }
            request.cancel()
        }
    }

    /// Checks each request as it is sent.
    private func watch(_ request: TransportRequest) {
        let isOver = books.withLock { $0.isOver }
        if isOver, request.head.headerFields[.authorization]?.hasSuffix("a2") == false {
            problem("a token of the former account was sent")
        }
        if isOver, request.head.path == "/auth/token", !String(decoding: request.body, as: UTF8.self).contains("a2") {
            problem("a refresh token of the former account was sent")
        }
    }

    private func answer(to request: TransportRequest) async throws -> TransportResponse {
        await pause(upTo: 50)
        let answer = server.answer(to: request)
        await pause(upTo: request.head.path == "/auth/token" ? 400 : 50)
        return answer
    }
}

private struct WatchedTransport: Transport {
    let base: InMemoryTransport
    let watch: @Sendable (TransportRequest) -> Void

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        watch(request)
        return try await base.send(request)
    }
}

/// A server with two accounts. The first one's access token has expired, and every refresh succeeds.
private struct TwoAccounts: Sendable {
    func answer(to request: TransportRequest) -> TransportResponse {
        let token = request.head.headerFields[.authorization] ?? ""
        switch request.head.path {
        case "/auth/sign-in": return .tokens("a2", account: "a2")
        case "/auth/token":
            let account = String(decoding: request.body, as: UTF8.self).contains("a2") ? "a2" : "a1"
            return .tokens(account, account: account)
        case "/auth/revoke": return TransportResponse(.ok)
        default:
            return token == "Bearer access-1"
                ? TransportResponse(.unauthorized) : TransportResponse(.ok, "\(token.suffix(2))")
        }
    }
}
