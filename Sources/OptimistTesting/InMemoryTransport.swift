// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes
public import OptimistCore
public import OptimistSession

/// A transport whose server is a closure. It records every request.
///
/// As on a network, cancelling a request does not wait for the server: the closure's task is cancelled, and the caller
/// continues immediately.
public final class InMemoryTransport: Transport {
    /// Answers a request, or throws the sender's error. Called for each request, on any thread.
    public typealias Handler = @Sendable (TransportRequest) async throws -> TransportResponse

    private let handler: Handler
    private let dependencies: Dependencies
    private let deadlines: Deadlines
    private let log = Mutex<[TransportRequest]>([])

    /// - Parameters:
    ///   - dependencies: Measures the timeout of a response's head, and runs the server.
    ///   - handler: Answers requests, several at a time. It may suspend, and it may throw `TransportError`.
    public init(dependencies: Dependencies = Dependencies(), _ handler: @escaping Handler) {
        self.dependencies = dependencies
        deadlines = Deadlines(dependencies)
        self.handler = handler
    }

    /// All requests so far, in order.
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

/// The first event decides.
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

    /// May be called once.
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
    /// Creates a response with a text body.
    public init(_ status: HTTPResponse.Status, _ body: String = "", headerFields: HTTPFields = [:]) {
        self.init(head: HTTPResponse(status: status, headerFields: headerFields), body: ResponseBody(Array(body.utf8)))
    }
}
