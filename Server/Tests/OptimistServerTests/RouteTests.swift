// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import OptimistWire
import Testing

@testable import OptimistServer

/// Tests which routes need a token, and whether the OpenAPI document describes all routes.
@Suite(.timeLimit(.minutes(20)))
struct RouteTests {
    let site = Site()

    private func routes(of server: OptimistServer) -> [(method: HTTPRequest.Method, path: String)] {
        server.makeRouter().routes.map { ($0.method, $0.path.description) }
    }

    /// The path with a value for each parameter.
    private func filled(_ path: String) -> String {
        path.split(separator: "/").map { "/" + ($0.hasPrefix("{") ? "x" : $0) }.joined()
    }

    @Test func `O4 without a token each route answers 401, unless its operation is public`() async throws {
        let apps = [AppRoute("/menu/:day") { _ in Response(status: .ok) }]
        try await site.serving(change: { $0.routes = apps }) { server, http async throws in
            var locked = 0
            for route in routes(of: server) where [.get, .post, .put, .delete, .patch].contains(route.method) {
                let operation = OpenAPI.operations.first { $0.method == route.method && $0.path == route.path }
                let status = try await http.send(route.method.rawValue, filled(route.path)).status
                if operation == nil, !route.path.hasPrefix("/menu") || route.method != .get {
                    #expect(status == 405, "\(route)")
                } else {
                    #expect((status == 401) == !(operation?.isPublic ?? false), "\(route) answered \(status)")
                    if status == 401 { locked += 1 }
                }
            }
            #expect(locked == OpenAPI.operations.count { !$0.isPublic } + 1)
        }
    }

    @Test func `O4 an invalid token opens no route`() async throws {
        try await site.serving { _, http async throws in
            for operation in OpenAPI.operations where !operation.isPublic {
                let answer = try await http.send(operation.method.rawValue, filled(operation.path), token: "a.b.c")
                #expect(answer.status == 401, "\(operation.path)")
            }
        }
    }

    @Test func `O5 the OpenAPI document has exactly the routes of the server and the app`() async throws {
        let apps = [AppRoute("/menu/:day", method: .put) { _ in Response(status: .ok) }]
        let server = try await site.open { $0.routes = apps }
        let refused = Router(context: ServerContext.self)
        for route in OpenAPI.operations { refused.on(RouterPath(route.path), method: route.method) { _, _ in "" } }
        refused.on("/menu/{day}", method: .put) { _, _ in "" }
        Routes.refuseOtherMethods(on: refused)
        #expect(
            Set(routes(of: server).map { "\($0.method) \($0.path)" })
                == Set(refused.routes.map { "\($0.method) \($0.path.description)" }))
        let paths = try #require(OpenAPI.document(beside: apps)["paths"]?.object)
        let documented = paths.members.flatMap { path, operations in
            (operations.object?.members ?? []).map { "\($0.key.uppercased()) \(path)" }
        }
        #expect(
            Set(documented) == Set(OpenAPI.operations.map { "\($0.method) \($0.path)" } + ["PUT /menu/{day}"]))
    }

    @Test func `O5 a server with app health documents the route for reports`() async throws {
        let plain = try await site.open()
        #expect(!routes(of: plain).contains { $0.path == "/health/reports" })
        #expect(OpenAPI.document()["paths"]?["/health/reports"] == nil)
        plain.storage.close()
        try await site.serving(change: { $0.health = HealthSettings(app: "planner") }) { server, http async throws in
            #expect(routes(of: server).contains { $0.path == "/health/reports" && $0.method == .post })
            let operation = try await http.get("/openapi.json").json["paths"]?["/health/reports"]?["post"]
            #expect(operation?["security"] == [])
        }
    }

    @Test func `O5 the document is public, and each of its references resolves`() async throws {
        try await site.serving { _, http async throws in
            let answer = try await http.get("/openapi.json")
            #expect(answer.status == 200 && answer.json["openapi"] == "3.1.1")
            let text = answer.json.description
            for kind in ["schemas", "responses"] {
                let names = Set(
                    text.matches(of: /#\/components\/(\w+)\/(\w+)/).filter { $0.1 == kind }.map { String($0.2) })
                let members = try #require(answer.json["components"]?[kind]?.object)
                #expect(names == Set(members.members.map(\.key)))
            }
        }
    }
}
