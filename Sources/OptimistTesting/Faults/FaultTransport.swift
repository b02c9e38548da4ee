// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
public import OptimistSession

/// A transport that wraps an app's transport and injects faults.
///
/// It draws faults from a seed by ``conditions``, or takes them from ``next(_:)`` for specific requests. If an app
/// sends its requests in the same order, the same seed gives the same faults.
///
/// ```swift
/// let transport = FaultTransport(URLSessionTransport(), conditions: .flaky, seed: 7)
/// let session = Session(server: server, transport: transport, credentials: .keychain)
/// ```
public final class FaultTransport: Transport {
    private struct State {
        var conditions: FaultConditions { didSet { chances = Self.ordered(conditions) } }
        /// Sorted, so that the order is the same in every run.
        var chances: [(fault: HTTPFault, chance: Double)]
        var planned: [HTTPFault?] = []
        var random: SplitMix64
        var counts: [HTTPFault: Int] = [:]
        var requests = 0

        init(_ conditions: FaultConditions, seed: UInt64) {
            self.conditions = conditions
            chances = Self.ordered(conditions)
            random = SplitMix64(seed: seed)
        }

        private static func ordered(_ conditions: FaultConditions) -> [(fault: HTTPFault, chance: Double)] {
            conditions.chances.sorted { "\($0.key)" < "\($1.key)" }.map { ($0.key, $0.value) }
        }
    }

    private let base: any Transport
    private let clock: any Clock<Duration>
    private let state: Mutex<State>

    /// - Parameters:
    ///   - base: Sends the requests that get through.
    ///   - conditions: The chances of faults. Default: none.
    ///   - clock: Measures latency and timeouts.
    ///   - seed: Determines the faults. Default: random.
    public init(
        _ base: any Transport, conditions: FaultConditions = .perfect, clock: any Clock<Duration> = ContinuousClock(),
        seed: UInt64 = .random(in: .min ... .max)
    ) {
        self.base = base
        self.clock = clock
        state = Mutex(State(conditions, seed: seed))
    }

    /// The chances of faults. A change takes effect at the next request.
    public var conditions: FaultConditions {
        get { state.withLock { $0.conditions } }
        set { state.withLock { $0.conditions = newValue } }
    }

    /// Sets the faults of the next requests, in order, instead of random ones. Nil sends a request without a fault.
    public func next(_ faults: HTTPFault?...) { state.withLock { $0.planned += faults } }

    /// The number of times each fault occurred.
    public var counts: [HTTPFault: Int] { state.withLock { $0.counts } }

    /// The number of requests sent through this transport.
    public var requestCount: Int { state.withLock { $0.requests } }

    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let (fault, latency) = draw()
        var request = request
        if latency > .zero {
            try await clock.sleep(for: min(latency, request.headTimeout))
            guard latency < request.headTimeout else { throw TransportError(.timedOut, .maybeProcessed) }
            request.headTimeout -= latency
        }
        try Task.checkCancellation()
        guard let fault else { return try await base.send(request) }
        return try await meet(fault, request)
    }

    private func draw() -> (HTTPFault?, Duration) {
        state.withLock { state in
            state.requests += 1
            let range = state.conditions.latency
            let latency =
                range.lowerBound + (range.upperBound - range.lowerBound)
                * Double.random(in: 0...1, using: &state.random)
            let fault = state.planned.isEmpty ? Self.drawn(&state) : state.planned.removeFirst()
            if let fault { state.counts[fault, default: 0] += 1 }
            return (fault, latency)
        }
    }

    /// The chances divide the range from 0 to 1.
    private static func drawn(_ state: inout State) -> HTTPFault? {
        if state.chances.isEmpty { return nil }
        var point = Double.random(in: 0..<1, using: &state.random)
        for (fault, chance) in state.chances {
            if point < chance { return fault }
            point -= chance
        }
        return nil
    }

    private func meet(_ fault: HTTPFault, _ request: TransportRequest) async throws -> TransportResponse {
        switch fault {
        case .refused: throw TransportError(.refused, .notSent)
        case .unreachable: throw TransportError(.unreachable, .notSent)
        case .requestLost: throw TransportError(.broken, .maybeProcessed)
        case .answerLost:
            // The server finishes its answer, but the client does not receive it.
            _ = try await base.send(request).body.collect(upTo: .max)
            throw TransportError(.broken, .maybeProcessed)
        case .stalled:
            try await clock.sleep(for: request.headTimeout)
            throw TransportError(.timedOut, .maybeProcessed)
        case .brokenBody(let count): return try await cut(request, after: count, isBroken: true)
        case .truncatedBody(let count): return try await cut(request, after: count, isBroken: false)
        case .duplicated:
            _ = try await base.send(request).body.collect(upTo: .max)
            return try await base.send(request)
        case .clockAhead(let seconds):
            var answer = try await base.send(request)
            let date = answer.head.headerFields[.date].flatMap { HTTPDate.parse($0) } ?? Date()
            answer.head.headerFields[.date] = HTTPDate.format(date + TimeInterval(seconds))
            return answer
        case .answered(let said):
            let head = HTTPResponse(status: .init(code: said.status), headerFields: said.headerFields)
            return TransportResponse(head: head, body: ResponseBody(Array(said.body.utf8)))
        }
    }

    private func cut(_ request: TransportRequest, after count: Int, isBroken: Bool) async throws -> TransportResponse {
        var answer = try await base.send(request)
        answer.body = ResponseBody(CutBody(body: answer.body, count: count, isBroken: isBroken))
        return answer
    }
}

private struct CutBody: AsyncSequence, Sendable {
    let body: ResponseBody
    let count: Int
    let isBroken: Bool

    func makeAsyncIterator() -> Iterator { Iterator(chunks: body.makeAsyncIterator(), left: count, isBroken: isBroken) }

    struct Iterator: AsyncIteratorProtocol {
        var chunks: ResponseBody.AsyncIterator
        var left: Int
        let isBroken: Bool

        mutating func next() async throws -> [UInt8]? {
            if left <= 0 {
                if isBroken { throw TransportError(.broken, .responseStarted) }
                return nil
            }
            guard let chunk = try await chunks.next() else {
                if isBroken { throw TransportError(.broken, .responseStarted) }
                return nil
            }
            defer { left -= chunk.count }
            return Array(chunk.prefix(left))
        }
    }
}
