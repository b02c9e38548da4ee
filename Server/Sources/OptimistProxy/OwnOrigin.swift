// This source file is part of the Optimist open source project, under the MIT licence.

package import Hummingbird

/// Refuses what web pages of others ask, in the browser of whoever runs this.
///
/// Any page may send requests to 127.0.0.1, and a name of its own may lead there. The browser says so in `Origin`
/// and in `Host`; programs such as curl send the address that they were given, and no `Origin`.
package struct OwnOrigin: RouterMiddleware {
    package init() {}

    @concurrent
    package func handle(
        _ request: Request, context: LocalRequestContext,
        next: @concurrent (Request, LocalRequestContext) async throws -> Response
    ) async throws -> Response {
        let host = request.head.authority?.lowercased() ?? ""
        let origin = request.headers[.origin]?.lowercased()
        guard Self.hosts(context.port).contains(host), origin == nil || origin == "http://\(host)" else {
            throw HTTPError(
                .forbidden, message: "Only for pages and programs that use http://127.0.0.1:\(context.port).")
        }
        return try await next(request, context)
    }

    private static func hosts(_ port: Int) -> [String] {
        let names = ["127.0.0.1", "localhost"]
        return names.map { "\($0):\(port)" } + (port == 80 ? names : [])
    }
}

/// A request with the port on which it came.
package struct LocalRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    let port: Int

    package init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        port = source.channel.localAddress?.port ?? 0
    }
}
