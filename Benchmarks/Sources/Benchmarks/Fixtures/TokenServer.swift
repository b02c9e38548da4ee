// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistSession
import OptimistTesting
import Synchronization

/// A transport with a built-in server that issues tokens, counts requests and fails on demand.
final class TokenServer: Transport {
    struct Counts {
        var sends = 0
        var sendsByPath: [String: Int] = [:]
        var refreshes = 0
        /// Requests that were sent after the session had ended.
        var sendsAfterTheEnd = 0
    }

    enum Answer { case ok, unauthorized, revoked, unavailable }

    private static let address = URL(string: "http://127.0.0.1:9")

    private let state = Mutex((counts: Counts(), generation: 1, session: nil as Session?))
    private let countsPaths: Bool
    private let latency: Duration
    private let refreshLatency: Duration
    private let isRefreshReachable: Bool
    private let answer: @Sendable (_ sends: Int, _ generation: Int) -> Answer

    /// - Parameter answer: Receives the current number of requests, and the number of this request's token.
    init(
        latency: Duration = .zero, refreshLatency: Duration = .zero, isRefreshReachable: Bool = true,
        countsPaths: Bool = false, _ answer: @escaping @Sendable (_ sends: Int, _ generation: Int) -> Answer
    ) {
        self.latency = latency
        self.refreshLatency = refreshLatency
        self.isRefreshReachable = isRefreshReachable
        self.countsPaths = countsPaths
        self.answer = answer
    }

    var counts: Counts { state.withLock { $0.counts } }

    func session() -> Session {
        guard let address = Self.address else { preconditionFailure("an address that cannot be read") }
        let credentials = Credentials(
            accessToken: Secret("access-1"), refreshToken: Secret("refresh-1"), expiresAt: nil, lifetime: nil,
            account: Account(id: "a1", email: "ada@example.org"), origin: "http://127.0.0.1:9")
        let session = Session(
            server: address, transport: self, credentials: InMemoryCredentialStore(credentials),
            reachability: ManualReachability())
        state.withLock { $0.session = session }
        return session
    }

    /// Breaks the reference cycle between the session and its server.
    func letGo() { state.withLock { $0.session = nil } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if request.head.path == "/auth/token" { return try await refresh() }
        let token = request.head.headerFields[.authorization]?.split(separator: "-").last.flatMap { Int($0) } ?? 0
        let (sends, session) = state.withLock { state in
            state.counts.sends += 1
            if countsPaths { state.counts.sendsByPath[request.head.path ?? "", default: 0] += 1 }
            return (state.counts.sends, state.session)
        }
        if case .signedOut? = session?.state { state.withLock { $0.counts.sendsAfterTheEnd += 1 } }
        if latency > .zero { try await Task.sleep(for: latency) }
        return switch answer(sends, token) {
        case .ok: TransportResponse(.ok)
        case .unauthorized: TransportResponse(.unauthorized)
        case .revoked: TransportResponse(.unauthorized, #"{"error":"invalid_token","reason":"revoked"}"#)
        case .unavailable: TransportResponse(.serviceUnavailable)
        }
    }

    private func refresh() async throws -> TransportResponse {
        let generation = state.withLock { state in
            state.counts.refreshes += 1
            state.generation += 1
            return state.generation
        }
        if refreshLatency > .zero { try await Task.sleep(for: refreshLatency) }
        if !isRefreshReachable { throw TransportError(.unreachable, .notSent) }
        return TransportResponse(
            .ok, #"{"access_token":"access-\#(generation)","refresh_token":"refresh-\#(generation)"}"#)
    }
}
