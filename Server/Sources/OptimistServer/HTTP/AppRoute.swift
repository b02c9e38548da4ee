// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes
public import Hummingbird
import NIOCore

/// A route of an app's own beside the server's routes, for users who are signed in.
///
/// ```swift
/// configuration.routes = [
///     AppRoute("/menu/:day") { call in try await menu.answer(for: call.parameters.require("day")) }
/// ]
/// ```
///
/// A request without a valid token gets 401, and the route is not called. The server reads the whole body first, as it reads
/// the bodies of its own requests: a body with a `Content-Encoding` is 415, a body that is too large 413, and a client that
/// sends `Expect: 100-continue` is told to go on. Body and answer count for ``ServerConfiguration/memoryLimit``: if there is
/// no room for them, the request gets 503 with `Retry-After`.
///
/// If the route throws Hummingbird's `HTTPError`, the server answers with the error's status. Any other error is 500, and the
/// answer has none of its text.
public struct AppRoute: Sendable {
    /// A request of a signed-in user.
    public struct Call: Sendable {
        /// The request. Its body is there as a whole.
        public let request: Request
        /// The values of the path's parameters.
        public let parameters: Parameters
        /// The id of the account that the token belongs to.
        public let account: String
    }

    let method: HTTPRequest.Method
    let path: RouterPath
    let maxBodyBytes: Int
    let answer: @Sendable (Call) async throws -> Response

    /// Makes a route.
    ///
    /// - Parameters:
    ///   - path: Must not be one of the server's own paths. That is a precondition when the server starts.
    ///   - method: Default: GET.
    ///   - maxBodyBytes: How large a request's body may be. Default: 10 MB.
    ///   - answer: Called for each request, several at a time. If the answer is 503 for want of memory, the call was made all
    ///     the same.
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
