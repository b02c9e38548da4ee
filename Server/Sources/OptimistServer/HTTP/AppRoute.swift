// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes
public import Hummingbird

/// A route of an app's own, beside the server's, for whoever is signed in.
///
/// ```swift
/// configuration.routes = [
///     AppRoute("/menu/:day") { call in try await menu.answer(for: call.parameters.require("day")) }
/// ]
/// ```
///
/// Who is not signed in gets 401 before the route hears of it. What it throws is answered as the server's own errors are:
/// Hummingbird's `HTTPError` with its status, anything else with 500 and nothing of what it says.
public struct AppRoute: Sendable {
    /// A request that somebody has sent who is signed in.
    public struct Call: Sendable {
        public let request: Request
        /// What the path's parameters are.
        public let parameters: Parameters
        /// Whose it is.
        public let account: String
    }

    let method: HTTPRequest.Method
    let path: RouterPath
    let answer: @Sendable (Call) async throws -> Response

    /// - Parameters:
    ///   - path: None of the server's own, which is a precondition where the server starts.
    ///   - method: Default: GET.
    ///   - answer: Called for each request, several at a time.
    public init(
        _ path: RouterPath, method: HTTPRequest.Method = .get,
        answer: @escaping @Sendable (Call) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.answer = answer
    }
}

extension Routes {
    func add(_ route: AppRoute, to router: Router<ServerContext>) {
        router.on(route.path, method: route.method) { request, context in
            let identity = try await accounts.identify(request.bearerToken)
            return try await route.answer(
                AppRoute.Call(request: request, parameters: context.parameters, account: identity.account))
        }
    }
}
