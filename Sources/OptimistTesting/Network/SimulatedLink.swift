// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Optimist
import OptimistCore
import OptimistSession

/// The network between one device and the simulated server.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class SimulatedLink: Sendable {
    private struct State {
        var conditions = LinkConditions.perfect
        var random: SplitMix64
        var troubles: [NetworkTrouble: Int] = [:]
        var requests = 0
    }

    let scheduler: SimulatedScheduler
    private let server: SimulatedServer
    private let state: Mutex<State>

    /// - Parameters:
    ///   - server: The server at the other end.
    ///   - seed: Determines the fate of each message.
    init(scheduler: SimulatedScheduler, server: SimulatedServer, seed: UInt64) {
        self.scheduler = scheduler
        self.server = server
        state = Mutex(State(random: SplitMix64(seed: seed)))
    }

    /// The network's conditions. A change takes effect at the next message.
    public var conditions: LinkConditions {
        get { state.withLock { $0.conditions } }
        set { state.withLock { $0.conditions = newValue } }
    }

    /// The number of times each fault occurred.
    @_spi(Internals) public var troubles: [NetworkTrouble: Int] { state.withLock { $0.troubles } }
    /// The number of requests sent.
    public var requests: Int { state.withLock { $0.requests } }

    /// Returns a transport that stops working when the process dies.
    func transport(for process: SimulatedProcess) -> some Transport {
        SimulatedTransport(link: self, process: process)
    }

    // MARK: - On the way

    func carry(_ request: TransportRequest, _ exchange: Exchange) {
        state.withLock { $0.requests += 1 }
        if !conditions.isOnline { return meetNothing(request, exchange) }
        if meets(.requestLost, conditions.requestLoss) { return timeOut(request, exchange) }
        deliver(request, exchange)
    }

    private func deliver(_ request: TransportRequest, _ exchange: Exchange) {
        scheduler.after(delay()) { [self] in
            // If the server is down, the sender learns that nothing was sent, so the request must not arrive later.
            let mayComeAgain = server.process != nil
            server.receive(request, over: self) { [self] answer in bringBack(answer, request, exchange) }
            if mayComeAgain, meets(.duplicated, conditions.duplication) {
                scheduler.after(delay() * 3) { [self] in server.receive(request, over: self) { _ in } }
            }
        }
    }

    private func bringBack(_ answer: SimulatedServer.Answer, _ request: TransportRequest, _ exchange: Exchange) {
        switch answer {
        case .down: fail(exchange, .refused, .notSent, .serverDown)
        case .died: fail(exchange, .broken, .maybeProcessed, .serverDied)
        case .response, .stream:
            if !conditions.isOnline || meets(.answerLost, conditions.answerLoss) {
                return timeOut(request, exchange)
            }
            scheduler.after(delay()) { [self] in arrive(answer, exchange) }
        }
    }

    private func arrive(_ answer: SimulatedServer.Answer, _ exchange: Exchange) {
        switch answer {
        case .down, .died: break
        case .response(let head, let bytes):
            exchange.finish(.success(TransportResponse(head: head, body: body(bytes))))
        case .stream(let head, let stream):
            exchange.finish(.success(TransportResponse(head: head, body: ResponseBody(stream.chunks))))
        }
    }

    /// Returns a body that is complete, broken off with an error, or silently truncated as by a proxy.
    private func body(_ bytes: [UInt8]) -> ResponseBody {
        guard !bytes.isEmpty, meets(.truncated, conditions.truncation) else { return ResponseBody(bytes) }
        let part = Array(bytes.prefix(Int(draw() % UInt64(bytes.count))))
        if draw() % 2 == 0 { return ResponseBody(part) }
        let chunks = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield(part)
            continuation.finish(throwing: TransportError(.broken, .responseStarted))
        }
        return ResponseBody(chunks)
    }

    /// Nil if the stream has broken.
    func streamDelay() -> Duration? {
        guard conditions.isOnline, !meets(.streamCut, conditions.streamCut) else { return nil }
        return delay()
    }

    // MARK: - Calls of a remote

    /// Delivers one call to a remote. The call may be lost, duplicated, or processed without an answer.
    ///
    /// - Parameter backend: Executes the call, even if the caller dies.
    func carry<Answer: Sendable>(
        from process: SimulatedProcess, to backend: SimulatedProcess,
        _ call: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let clock = SimulatedClock(scheduler: scheduler, process: process)
        state.withLock { $0.requests += 1 }
        guard conditions.isOnline else {
            count(.offline)
            try await clock.sleep(for: delay())
            throw RemoteFailure.notSent("The device is offline.")
        }
        if meets(.requestLost, conditions.requestLoss) { throw try await silence(clock) }
        try await clock.sleep(for: delay())
        let isDoubled = meets(.duplicated, conditions.duplication)
        let answer = try await withUnsafeThrowingContinuation { waiting in
            backend.spawn {
                do { waiting.resume(returning: try await call()) } catch { waiting.resume(throwing: error) }
                if isDoubled { _ = try? await call() }
            }
        }
        if !conditions.isOnline || meets(.answerLost, conditions.answerLoss) { throw try await silence(clock) }
        try await clock.sleep(for: delay())
        try Task.checkCancellation()
        return answer
    }

    /// Waits for the client's timeout and returns its error.
    private func silence(_ clock: SimulatedClock) async throws -> RemoteFailure {
        try await clock.sleep(for: Self.patience)
        return .unreachable("The server did not answer.")
    }

    private static let patience = Duration.seconds(30)

    // MARK: - Trouble

    private func meetNothing(_ request: TransportRequest, _ exchange: Exchange) {
        if draw() % 4 == 0 {
            count(.offline)
            return timeOut(request, exchange)
        }
        fail(exchange, .unreachable, .notSent, .offline)
    }

    private func fail(
        _ exchange: Exchange, _ kind: TransportError.Kind, _ phase: TransportError.Phase, _ trouble: NetworkTrouble
    ) {
        count(trouble)
        scheduler.after(delay()) { exchange.finish(.failure(TransportError(kind, phase))) }
    }

    private func timeOut(_ request: TransportRequest, _ exchange: Exchange) {
        scheduler.after(request.headTimeout) { exchange.finish(.failure(TransportError(.timedOut, .maybeProcessed))) }
    }

    private func count(_ trouble: NetworkTrouble) { state.withLock { $0.troubles[trouble, default: 0] += 1 } }

    private func meets(_ trouble: NetworkTrouble, _ chance: Double) -> Bool {
        guard chance > 0, Double(draw() >> 11) * 0x1p-53 < chance else { return false }
        count(trouble)
        return true
    }

    private func draw() -> UInt64 { state.withLock { $0.random.next() } }

    private func delay() -> Duration {
        let latency = conditions.latency
        return latency.lowerBound + (latency.upperBound - latency.lowerBound) * (Double(draw() >> 11) * 0x1p-53)
    }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private struct SimulatedTransport: Transport {
    let link: SimulatedLink
    let process: SimulatedProcess

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let exchange = Exchange(process)
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { waiting in
                if exchange.begin(waiting) { link.carry(request, exchange) }
            }
        } onCancel: {
            exchange.cancel()
        }
    }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class Exchange: Sendable {
    private enum State {
        case new, cancelled, over
        case waiting(UnsafeContinuation<TransportResponse, any Error>)
    }

    private let state = Mutex(State.new)
    private let process: SimulatedProcess

    init(_ process: SimulatedProcess) { self.process = process }

    /// False if the request was cancelled or its process is dead.
    func begin(_ waiting: UnsafeContinuation<TransportResponse, any Error>) -> Bool {
        let isCancelled = state.withLock { state in
            if case .cancelled = state { return true }
            state = .waiting(waiting)
            return false
        }
        if isCancelled { waiting.resume(throwing: CancellationError()) }
        return !isCancelled && process.isAlive
    }

    /// Does nothing if the process is dead.
    func finish(_ result: Result<TransportResponse, any Error>) {
        if process.isAlive { end(result) }
    }

    func cancel() { end(.failure(CancellationError())) }

    private func end(_ result: Result<TransportResponse, any Error>) {
        let waiting = state.withLock { state -> UnsafeContinuation<TransportResponse, any Error>? in
            switch state {
            case .new: state = .cancelled
            case .cancelled, .over: break
            case .waiting(let waiting):
                state = .over
                return waiting
            }
            return nil
        }
        waiting?.resume(with: result)
    }
}
