// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import OptimistCore
import OptimistLoopback
import ServiceLifecycle

struct AdminSite: Service {
    let routes: AdminRoutes
    let port: Int
    let connections: WatchedChannel.Settings
    let binding: Binding
    let logger: Logger

    func run() async throws {
        let router = Router(context: LocalRequestContext.self)
        routes.add(to: router)
        // The application's messages about starting and stopping would repeat the server's messages.
        var quiet = logger
        quiet.logLevel = .critical
        let application = Application(
            router: router, server: WatchedChannel.builder(connections, addresses: AddressLimit(nil)),
            configuration: .init(address: .hostname("127.0.0.1", port: port), serverName: "Optimist"),
            onServerRunning: { [binding] channel in binding.succeed(channel.localAddress?.port ?? 0) }, logger: quiet)
        do {
            try await application.run()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            let refusal = OptimistError(
                .addressInUse,
                """
                Another program uses the operator's port \(port). Stop that program, or choose another port with \
                --admin-port.
                """, cause: error)
            binding.fail(refusal)
            throw refusal
        }
    }
}

/// Other sites cannot embed a page, and pages load resources from this server only.
///
/// > Source: Content Security Policy Level 3, W3C.
struct AdminAnswerFields: RouterMiddleware {
    static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'
        """

    func handle(
        _ request: Hummingbird.Request, context: LocalRequestContext,
        next: @concurrent (Hummingbird.Request, LocalRequestContext) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        var response = try await next(request, context)
        if response.headers[.contentSecurityPolicy] == nil { response.headers[.contentSecurityPolicy] = Self.policy }
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.cacheControl] = "no-store"
        response.headers[.referrerPolicy] = "no-referrer"
        return response
    }
}
