// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes
public import OptimistCore
public import OptimistSession

/// A transport whose server is a closure. It notes every request that it was given.
///
/// As over a network, the server does not notice at once that a request was given up: the closure's task is cancelled, and
/// no caller waits for it.
public final class InMemoryTransport: Transport {
    /// Answers a request, or throws the error that the sender gets. It is called for each request, on any thread.
    public typealias Handler = @Sendable (TransportRequest) async throws -> TransportResponse

    private let handler: Handler
    private let dependencies: Dependencies
    private let deadlines: Deadlines
    private let log = Mutex<[TransportRequest]>([])

    /// - Parameters:
    ///   - dependencies: Measures how long the head of an answer takes, and runs the server.
    ///   - handler: Answers requests, several at once. It may wait, and it may throw `TransportError`.
    public init(dependencies: Dependencies = Dependencies(), _ handler: @escaping Handler) {
        self.dependencies = dependencies
        deadlines = Deadlines(dependencies)
        self.handler = handler
    }

    /// Every request so far, in the order they came.
    public var requests: [TransportRequest] { log.withLock { $0 } }

    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        try Task.checkCancellation()
        log.withLock { $0.append(request) }
        let exchange = InMemoryExchange()
        let server = dependencies.spawn { [handler] in
            do { exchange.end(.success(try await handler(request))) } catch { exchange.end(.failure(error)) }
        }
        let alarm = deadlines.add(after: request.headTimeout) {
            exchange.end(.failure(TransportError(.timedOut, .maybeProcessed)))
        }
        defer {
            server.cancel()
            deadlines.remove(alarm)
        }
        return try await withTaskCancellationHandler {
            try await exchange.outcome()
        } onCancel: {
            exchange.end(.failure(CancellationError()))
        }
    }
}

/// How one request ends: the first event decides.
private final class InMemoryExchange: Sendable {
    private enum State {
        case open(CheckedContinuation<TransportResponse, any Error>?)
        case ended(Result<TransportResponse, any Error>)
    }

    private let state = Mutex(State.open(nil))

    func end(_ result: Result<TransportResponse, any Error>) {
        let waiting: CheckedContinuation<TransportResponse, any Error>? = state.withLock { state in
            guard case .open(let waiting) = state else { return nil }
            state = .ended(result)
            return waiting
        }
        waiting?.resume(with: result)
    }

    /// Asked for once.
    func outcome() async throws -> TransportResponse {
        try await withCheckedThrowingContinuation { continuation in
            let result: Result<TransportResponse, any Error>? = state.withLock { state in
                if case .ended(let result) = state { return result }
                state = .open(continuation)
                return nil
            }
            if let result { continuation.resume(with: result) }
        }
    }
}

extension TransportResponse {
    /// An answer with a text as its body.
    public init(_ status: HTTPResponse.Status, _ body: String = "", headerFields: HTTPFields = [:]) {
        self.init(head: HTTPResponse(status: status, headerFields: headerFields), body: ResponseBody(Array(body.utf8)))
    }
}
