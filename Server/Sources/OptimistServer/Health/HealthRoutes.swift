// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
public import Hummingbird
import NIOCore
import OptimistWire

/// The routes that show an app's health: `GET /health`, a page with a plot, and `GET /health.json`. They do not check a
/// token, so add them only to a router that only operators can reach.
public struct HealthRoutes: Sendable {
    private let store: any HealthStore

    /// Makes the routes for a server's data.
    public init(_ server: OptimistServer) { self.init(server.storage.health) }

    init(_ store: any HealthStore) { self.store = store }

    /// Adds the routes to a router. `?app=NAME` selects an app. Default: the first by name.
    public func add(to router: Router<some RequestContext>) {
        router.get("/health") { [store] request, _ in
            let summary = try await Self.summary(request, store)
            let query = request.uri.query.map { "?\($0)" } ?? ""
            return Self.answer(
                HealthPage(summary: summary).html(json: "health.json\(query)"), type: "text/html; charset=utf-8")
        }
        router.get("/health.json") { [store] request, _ in
            Self.answer(try await Self.summary(request, store).json.description, type: "application/json")
        }
    }

    private static func summary(_ request: Request, _ store: any HealthStore) async throws -> HealthSummary {
        HealthSummary(try await store.sums(of: request.uri.queryParameters["app"].map(String.init)))
    }

    private static func answer(_ text: String, type: String) -> Response {
        var headers: HTTPFields = [.contentType: type, .cacheControl: "no-store"]
        headers[.contentSecurityPolicy] =
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        headers[.xContentTypeOptions] = "nosniff"
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
