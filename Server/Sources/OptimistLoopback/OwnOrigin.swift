// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
package import Hummingbird

/// Refuses requests that other sites' web pages send from the user's browser.
///
/// Any page can send requests to 127.0.0.1, and any domain name can point there. The browser reveals this in `Origin`,
/// `Sec-Fetch-Site` and `Host`. Programs such as curl send only `Host`, with the address that they were given. Another
/// site may only link to a page.
///
/// > Source: Fetch Metadata Request Headers, W3C; Fetch, WHATWG, on `Cross-Origin-Resource-Policy`.
package struct OwnOrigin: RouterMiddleware {
    private let pages: Set<String>

    /// - Parameter pages: The paths that other sites may link to. Paths ending in `.html` are always allowed. Default:
    ///   the root.
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
                .forbidden, message: "http://127.0.0.1:\(context.port) is only for its own pages and local programs.")
        }
        var response = try await next(request, context)
        if let policy = HTTPField.Name("Cross-Origin-Resource-Policy") { response.headers[policy] = "same-origin" }
        return response
    }

    /// Whether the request is from the site's own page, or the user is opening a page.
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
