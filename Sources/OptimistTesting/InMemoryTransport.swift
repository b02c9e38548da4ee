// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes
public import OptimistSession
import Synchronization

/// A transport whose server is a closure. It notes every request that it was given.
public final class InMemoryTransport: Transport {
    public typealias Handler = @Sendable (TransportRequest) async throws -> TransportResponse

    private let handler: Handler
    private let log = Mutex<[TransportRequest]>([])

    /// - Parameter handler: Answers requests, several at once. It may wait, and it may throw `TransportError`.
    public init(_ handler: @escaping Handler) { self.handler = handler }

    /// Every request so far, in the order they came.
    public var requests: [TransportRequest] { log.withLock { $0 } }

    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        try Task.checkCancellation()
        log.withLock { $0.append(request) }
        return try await handler(request)
    }
}

extension TransportResponse {
    /// An answer with a text as its body.
    public init(_ status: HTTPResponse.Status, _ body: String = "", headerFields: HTTPFields = [:]) {
        self.init(head: HTTPResponse(status: status, headerFields: headerFields), body: ResponseBody(Array(body.utf8)))
    }
}
