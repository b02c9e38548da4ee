// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import Logging

/// Adds the request's id, which is also in the log. Behind a TLS proxy, it also adds HSTS.
///
/// > Source: RFC 6797 §7.1. A server reached without TLS must not send it (§7.2).
struct AnswerFields: RouterMiddleware {
    typealias Context = ServerContext

    let isBehindProxy: Bool
    static let hsts = "max-age=31536000"

    func handle(
        _ request: Hummingbird.Request, context: ServerContext,
        next: @concurrent (Hummingbird.Request, ServerContext) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        var context = context
        if isBehindProxy, let given = request.proxyID { context.requestID = given }
        let id = context.requestID
        context.logger[metadataKey: "hb.request.id"] = .string(id)
        var response = try await next(request, context)
        response.headers[.requestID] = id
        if isBehindProxy, request.cameByTLS { response.headers[.strictTransportSecurity] = Self.hsts }
        return response
    }
}

extension HTTPField.Name {
    // Valid tokens by RFC 9110 §5.6.2, so never nil.
    static let requestID = Self("X-Request-Id") ?? .from
    static let referrerPolicy = Self("Referrer-Policy") ?? .from
}

extension Hummingbird.Request {
    /// Nil if the proxy's id is not safe to log.
    fileprivate var proxyID: String? {
        guard let id = headers[.requestID], (1...64).contains(id.utf8.count),
            id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
        else { return nil }
        return id
    }
}
