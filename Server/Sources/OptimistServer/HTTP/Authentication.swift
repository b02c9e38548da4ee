// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird

/// Identifies the sender of a request. Without a valid token the answer is 401.
struct Authentication: RouterMiddleware {
    let accounts: Accounts

    func handle(
        _ request: Hummingbird.Request, context: ServerContext,
        next: @concurrent (Hummingbird.Request, ServerContext) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        var context = context
        context.identity = try await accounts.identify(request.bearerToken)
        return try await next(request, context)
    }
}

/// The server's context of a request, with the facts that a middleware adds.
protocol ServerChildContext: ChildRequestContext {
    var server: ServerContext { get set }
}

extension ServerChildContext {
    var coreContext: CoreRequestContextStorage {
        get { server.coreContext }
        set { server.coreContext = newValue }
    }
}

struct SignedInContext: ServerChildContext {
    var server: ServerContext
    let identity: Accounts.Identity

    /// - Throws: ``Unauthorized`` if the route is not behind ``Authentication``.
    init(context: ServerContext) throws {
        guard let identity = context.identity else { throw Unauthorized() }
        self.identity = identity
        server = context
    }
}
