// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes
public import Hummingbird
import NIOCore

/// An app's own route in addition to the server's, for signed-in users.
///
/// ```swift
/// configuration.routes = [
///     AppRoute("/menu/:day") { call in try await menu.answer(for: call.parameters.require("day")) }
/// ]
/// ```
///
/// A request without a valid token gets 401 and does not reach the route. The server reads the entire body first, by
/// its own rules: a body with a `Content-Encoding` gets 415, a body that is too large gets 413, and
/// `Expect: 100-continue` is supported. The body and the answer count towards ``ServerConfiguration/memoryLimit``; if
/// there is no room for them, the request gets 503 with `Retry-After`.
///
/// If the route throws Hummingbird's `HTTPError`, the server answers with its status. Any other error becomes 500,
/// without the error's text.
public struct AppRoute: Sendable {
    /// A request of a signed-in user.
    public struct Call: Sendable {
        /// The request, with its entire body.
        public let request: Request
        /// The values of the path's parameters.
        public let parameters: Parameters
        /// The id of the token's account.
        public let account: String
    }

    let method: HTTPRequest.Method
    let path: RouterPath
    let maxBodyBytes: Int
    let answer: @Sendable (Call) async throws -> Response

    /// Makes a route.
    ///
    /// - Parameters:
    ///   - path: A path that the server does not use itself. The server checks this precondition when it starts.
    ///   - method: Default: GET.
    ///   - maxBodyBytes: The largest request body, in bytes. Default: 10 MB.
    ///   - answer: Called for each request, concurrently. A client may get 503 for lack of memory even after this was
    ///     called.
    public init(
        _ path: RouterPath, method: HTTPRequest.Method = .get, maxBodyBytes: Int = 10_000_000,
        answer: @escaping @Sendable (Call) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.maxBodyBytes = maxBodyBytes
        self.answer = answer
    }
}

extension Routes {
    func add(_ route: AppRoute, to users: RouterGroup<SignedInContext>) {
        users.on(route.path, method: route.method) { request, context in
            let account = context.identity.account
            let share = memory.share(of: account)
            let body = try await request.body(
                upTo: route.maxBodyBytes, deadline: bodyDeadline, context.server, taking: share.take)
            var request = request
            request.body = RequestBody(buffer: ByteBuffer(body))
            var response = try await route.answer(
                AppRoute.Call(request: request, parameters: context.parameters, account: account))
            let bytes = response.body.contentLength ?? 0
            try share.keepIfThereIsRoom(answer: bytes)
            response.body = response.body.inPieces(on: context.server.channel.eventLoop, until: share.leave)
            return response
        }
    }
}
