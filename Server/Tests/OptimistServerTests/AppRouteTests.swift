// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import Testing

@testable import OptimistServer

/// Routes of an app's own.
@Suite(.timeLimit(.minutes(20)))
struct AppRouteTests {
    let site = Site()

    private struct Secret: Error {}

    @Test func `a route of the app's own is for whoever is signed in, and knows who that is`() async throws {
        let routes = [
            AppRoute("/menu/:day") { call in
                Response(
                    status: .ok,
                    body: .init(byteBuffer: .init(string: "\(try call.parameters.require("day")) of \(call.account)")))
            }
        ]
        try await site.serving(change: { $0.routes = routes }) { _, http async throws in
            #expect(try await http.get("/menu/friday").status == 401)
            let person = try await http.signUp()
            let answer = try await http.get("/menu/friday", token: person.access)
            #expect(answer.status == 200)
            #expect(String(decoding: answer.body, as: UTF8.self) == "friday of \(person.account)")
            #expect(try await http.get("/menu", token: person.access).status == 404)
        }
    }

    @Test func `what a route throws is answered by its status, and its inside stays inside`() async throws {
        let routes = [
            AppRoute("/gone") { _ in throw HTTPError(.gone, message: "No more.") },
            AppRoute("/broken") { _ in throw Secret() },
        ]
        try await site.serving(change: { $0.routes = routes }) { _, http async throws in
            let token = try await http.signUp().access
            #expect(try await http.get("/gone", token: token).status == 410)
            let broken = try await http.get("/broken", token: token)
            #expect(broken.status == 500 && !String(decoding: broken.body, as: UTF8.self).contains("Secret"))
        }
    }
}
