// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import Logging
import NIOCore
import OptimistCore
import OptimistLoopback

/// Controls a running ``FaultProxy`` over HTTP on 127.0.0.1.
///
/// | call | effect |
/// |---|---|
/// | `GET /conditions` | returns all conditions, as ``NetworkConditionsPatch`` |
/// | `PUT /conditions` | changes the conditions that the body contains, and returns all |
/// | `GET /counters` | returns ``ProxyCounters`` |
/// | `POST /drop-next-responses {"count"}` | ``FaultProxy/dropNextResponses(_:)`` |
/// | `POST /reset` | ``FaultProxy/resetAll()`` |
package struct ProxyAdmin: Sendable {
    private let proxy: FaultProxy
    private let port: Int

    /// - Parameter port: A port of 127.0.0.1. 0 selects a free one.
    package init(proxy: FaultProxy, port: Int) {
        self.proxy = proxy
        self.port = port
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter listening: Called once with the port, when the endpoint accepts requests.
    /// - Throws: `OptimistError` with code `cannotListen`.
    package func run(listening: @escaping @Sendable (_ port: Int) async -> Void = { _ in }) async throws {
        var logger = Logger(label: "optimist.proxy")
        logger.logLevel = .critical  // Cancellation is the normal end, not a failure.
        let application = Application(
            router: router(),
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in await listening(channel.localAddress?.port ?? 0) },
            logger: logger)
        do {
            try await application.run()
        } catch let error as IOError {
            throw OptimistError(
                .cannotListen, "The proxy's admin endpoint cannot listen on port \(port).", cause: error)
        }
    }

    private func router() -> Router<LocalRequestContext> {
        let router = Router(context: LocalRequestContext.self)
        router.add(middleware: OwnOrigin())
        router.get("conditions") { [proxy] _, _ in try JSONAnswer(NetworkConditionsPatch(proxy.conditions)) }
        router.put("conditions") { [proxy] request, context in
            let patch = try await request.decode(as: NetworkConditionsPatch.self, context: context)
            try await proxy.setConditions(proxy.conditions.applying(patch))
            return try JSONAnswer(NetworkConditionsPatch(proxy.conditions))
        }
        router.get("counters") { [proxy] _, _ in try JSONAnswer(proxy.counters) }
        router.post("drop-next-responses") { [proxy] request, context in
            let count = try await request.decode(as: DropRequest.self, context: context).count
            guard (0...1_000_000).contains(count) else { throw HTTPError(.badRequest, message: "count: 0...1000000") }
            proxy.dropNextResponses(count)
            return HTTPResponse.Status.noContent
        }
        router.post("reset") { [proxy] _, _ in
            await proxy.resetAll()
            return HTTPResponse.Status.noContent
        }
        return router
    }
}

private struct DropRequest: Decodable { var count: Int }

private struct JSONAnswer: ResponseGenerator {
    private let body: Data

    init(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        body = try encoder.encode(value) + Data("\n".utf8)
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
