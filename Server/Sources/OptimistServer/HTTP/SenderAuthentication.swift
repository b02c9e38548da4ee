// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
@_spi(Internals) import OptimistWire

/// Identifies the sender of a request that a program with a service key may also send.
///
/// A browser adds `Origin` to requests of pages. The server refuses a key from there, and never answers with CORS
/// fields, because every visitor of a page can read its key.
struct SenderAuthentication: RouterMiddleware {
    let routes: Routes

    func handle(
        _ request: Hummingbird.Request, context: ServerContext,
        next: @concurrent (Hummingbird.Request, ServerContext) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        var context = context
        if let token = request.bearerToken, ServiceKeySecret.isOne(token) {
            if request.headers[.origin] != nil {
                routes.accounts.log.note(.serviceKeyRefused, routes.caller(request, context))
                throw RequestProblem(
                    type: "about:blank", status: 403, detail: "A service key does not work in a browser's page.")
            }
            context.serviceKey = try await routes.accounts.identify(
                serviceKey: token, routes.caller(request, context))
        } else {
            context.identity = try await routes.accounts.identify(request.bearerToken)
        }
        return try await next(request, context)
    }
}

/// A person's device, or a program with a service key.
enum Sender: Sendable {
    case person(Accounts.Identity)
    case service(ServiceKey)

    /// Whose requests share the slots.
    var slot: String {
        switch self {
        case .person(let identity): identity.session
        case .service(let key): key.id
        }
    }
}

struct SenderContext: ServerChildContext {
    var server: ServerContext
    let sender: Sender

    /// - Throws: ``Unauthorized`` if the route is not behind ``SenderAuthentication``.
    init(context: ServerContext) throws {
        if let key = context.serviceKey {
            sender = .service(key)
        } else if let identity = context.identity {
            sender = .person(identity)
        } else {
            throw Unauthorized()
        }
        server = context
    }
}

/// The context of routes for programs only.
struct ServiceContext: ServerChildContext {
    var server: ServerContext
    let key: ServiceKey

    /// - Throws: ``RequestProblem`` with status 403 if a person sent the request.
    init(context: ServerContext) throws {
        guard let key = context.serviceKey else {
            throw RequestProblem(type: "about:blank", status: 403, detail: "This route needs a service key.")
        }
        self.key = key
        server = context
    }
}
