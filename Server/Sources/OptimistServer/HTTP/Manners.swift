// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
@_spi(Internals) import OptimistWire

/// Answers `HEAD` like `GET`, but without a body. This includes errors. A client would take a body for the start of the
/// next answer.
struct HeadMiddleware: RouterMiddleware {
    func handle(
        _ request: Hummingbird.Request, context: ServerContext,
        next: @concurrent (Hummingbird.Request, ServerContext) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        let response = try await next(request, context)
        return request.method == .head ? response.createHeadResponse() : response
    }
}

/// Refuses requests that a proxy and the server could interpret differently, and unknown methods.
///
/// > Source: RFC 9112 §3.2, RFC 9110 §9.1.
struct RequestCheck: RouterMiddleware {
    static let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .delete, .patch, .options, .trace, .connect]

    func handle(
        _ request: Hummingbird.Request, context: ServerContext,
        next: @concurrent (Hummingbird.Request, ServerContext) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        guard let host = request.head.authority, !request.hasSecondHost, Self.isHost(host) else {
            throw RequestProblem(
                type: "about:blank", status: 400,
                detail: "A request must have exactly one Host header with a valid host.")
        }
        guard Self.methods.contains(request.method) else {
            throw RequestProblem(type: "about:blank", status: 501, detail: "The server does not support this method.")
        }
        return try await next(request, context)
    }

    /// Whether a text is a name or an address, optionally with a port, and safe in a URL.
    static func isHost(_ text: String) -> Bool {
        text.utf8.count <= 255
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-._~:[]%".utf8.contains(byte)
                }
            }
    }
}

extension Hummingbird.Request {
    /// The first Host header becomes the authority. Further Host headers remain among the fields.
    fileprivate var hasSecondHost: Bool { headers.contains { $0.name.canonicalName == "host" } }
}

extension Routes {
    /// Answers methods that a path does not support with 405. Call it after all routes are added.
    static func refuseOtherMethods(on router: Router<ServerContext>) {
        for (_, routes) in Dictionary(grouping: router.routes, by: \.path.description) {
            var present = routes.map(\.method)
            if present.contains(.get), !present.contains(.head) { present.append(.head) }
            let allowed = RequestCheck.methods.filter(present.contains).map(\.rawValue).joined(separator: ", ")
            for method in RequestCheck.methods where !present.contains(method) {
                router.on(routes[0].path, method: method) { _, _ in
                    var response = Response(
                        RequestProblem(type: "about:blank", status: 405, detail: "This path supports only: \(allowed).")
                    )
                    response.headers[.allow] = allowed
                    return response
                }
            }
        }
    }
}
