// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
package import Hummingbird

/// Refuses requests from web pages of other sites, in the browser of the user who runs this.
///
/// Any page may send requests to 127.0.0.1, and a name of its own may lead there. The browser says so in `Origin`, in
/// `Sec-Fetch-Site` and in `Host`; programs such as curl send the address that they were given, and neither of the others.
/// Only a page itself may be opened from elsewhere, as by a link.
///
/// > Source: Fetch Metadata Request Headers, W3C; Fetch, WHATWG, on `Cross-Origin-Resource-Policy`.
package struct OwnOrigin: RouterMiddleware {
    private let pages: Set<String>

    /// - Parameter pages: The paths that a link may lead to, beside those that end with `.html`. Default: the root.
    package init(pages: Set<String> = ["/"]) { self.pages = pages }

    @concurrent
    package func handle(
        _ request: Request, context: LocalRequestContext,
        next: @concurrent (Request, LocalRequestContext) async throws -> Response
    ) async throws -> Response {
        let host = request.head.authority?.lowercased() ?? ""
        let origin = request.headers[.origin]?.lowercased()
        guard Self.hosts(context.port).contains(host), origin == nil || origin == "http://\(host)",
            isOwn(request)
        else {
            throw HTTPError(
                .forbidden, message: "Only for pages and programs that use http://127.0.0.1:\(context.port).")
        }
        var response = try await next(request, context)
        if let policy = HTTPField.Name("Cross-Origin-Resource-Policy") { response.headers[policy] = "same-origin" }
        return response
    }

    /// Whether the browser says that its own page asks, or that the user opens one.
    private func isOwn(_ request: Request) -> Bool {
        func value(_ name: String) -> String? { HTTPField.Name(name).flatMap { request.headers[$0] } }
        switch value("Sec-Fetch-Site") {
        case nil, "same-origin", "none": return true
        default:
            let isPage = pages.contains(request.uri.path) || request.uri.path.hasSuffix(".html")
            return request.method == .get && isPage && value("Sec-Fetch-Mode") == "navigate"
        }
    }

    private static func hosts(_ port: Int) -> [String] {
        let names = ["127.0.0.1", "localhost"]
        return names.map { "\($0):\(port)" } + (port == 80 ? names : [])
    }
}
