// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistWire
import Testing

@testable import OptimistServer

/// The routes of invitation links for browsers and Apple's systems.
@Suite(.timeLimit(.minutes(20)))
struct JoinPageTests {
    private static let apps = ["A1B2C3D4E5.org.example.app", "A1B2C3D4E5.org.example.app-beta"]
    private static let association = "/.well-known/apple-app-site-association"
    private let site = Site()

    private func serving(appStore: String? = nil, _ body: (HTTPSide) async throws -> Void) async throws {
        let page = try JoinPage(appIDs: Self.apps, appStore: appStore.flatMap { URL(string: $0) })
        try await site.serving(change: { $0.joinPage = page }) { _, http async throws in try await body(http) }
    }

    @Test func `Apple's systems learn in one answer which apps open a link`() async throws {
        try await serving { http in
            let answer = try await http.get(Self.association)
            #expect(answer.status == 200 && answer.headers["content-type"] == ["application/json"])
            #expect(answer.headers["cache-control"] == ["public, max-age=3600"])
            let details: JSON = [["appIDs": .array(Self.apps.map(JSON.string)), "components": [["/": "/join"]]]]
            #expect(answer.json == ["applinks": ["details": details]])
        }
    }

    @Test func `P9 the page of a link may run its own script and load nothing`() async throws {
        try await serving { http in
            let answer = try await http.get("/join")
            #expect(answer.status == 200 && answer.headers["content-type"] == ["text/html; charset=utf-8"])
            let html = String(decoding: answer.body, as: UTF8.self)
            func hash(_ name: String) throws -> String {
                let parts = html.split(separator: "<\(name)>", omittingEmptySubsequences: false)
                let text = try #require(parts.last?.split(separator: "</\(name)>").first)
                #expect(parts.count == 2)
                return "'sha256-\(Data(SHA256.hash(text.utf8)).base64EncodedString())'"
            }
            let (script, style) = (try hash("script"), try hash("style"))
            let policy = """
                default-src 'none'; script-src \(script); style-src \(style); base-uri 'none'; form-action 'none'; \
                frame-ancestors 'none'
                """
            #expect(answer.headers["content-security-policy"] == [policy])
            #expect(answer.headers["referrer-policy"] == ["no-referrer"])
            #expect(answer.headers["cache-control"] == ["no-store"])
            #expect(answer.headers["x-content-type-options"] == ["nosniff"])
            #expect(!html.contains("<!-- app store -->") && !html.contains("Get the app"))
        }
    }

    @Test func `the page leads to the app store, whose address cannot become markup`() async throws {
        try await serving(appStore: "https://apps.example.org/?id=1&name='planner'") { http in
            let html = String(decoding: try await http.get("/join").body, as: UTF8.self)
            #expect(html.contains(#"href="https://apps.example.org/?id=1&amp;name=&#39;planner&#39;">Get the app</a>"#))
        }
    }

    @Test func `O5 a server with apps for links has their routes in its document, and others answer 404`() async throws
    {
        let paths = [Self.association, "/join"]
        try await site.serving { _, http async throws in
            let document = try await http.get("/openapi.json").json
            for path in paths {
                #expect(try await http.get(path).status == 404)
                #expect(document["paths"]?[path] == nil)
            }
        }
        try await serving { http in
            let document = try await http.get("/openapi.json").json
            for path in paths {
                #expect(document["paths"]?[path]?["get"]?["security"] == [])
                #expect(try await http.send("HEAD", path).status == 200)
                #expect(try await http.send("POST", path).status == 405)
            }
        }
    }

    @Test(arguments: [
        [], [""], ["org.example.app"], ["A1B2C3D4E.org.example"], ["A1B2C3D4E5"], ["A1B2C3D4E5."],
        ["A1B2C3D4E5.org.example/app"], ["A1B2C3D4É5.org.example"], ["A1B2C3D4E5.org.example", "A1B2C3D4E5.*"],
    ])
    func `an invalid app id is refused with an example of a valid one`(ids: [String]) {
        let message = refusal { try JoinPage(appIDs: ids) }
        #expect(message?.contains(Self.apps[0]) == true)
    }

    @Test(arguments: [
        "http://apps.example.org", "apps.example.org", "https:", "javascript:alert(1)", "https://a@b.org",
    ])
    func `an app store without HTTPS is refused`(address: String) throws {
        let url = try #require(URL(string: address))
        let message = refusal { try JoinPage(appIDs: Self.apps, appStore: url) }
        #expect(message?.contains("https URL") == true)
    }

    /// The message of an error with the code `badJoinPage`. Nil without one.
    private func refusal(_ make: () throws -> JoinPage) -> String? {
        do {
            _ = try make()
            return nil
        } catch {
            let error = error as? OptimistError
            return error?.code == .badJoinPage ? error?.message : nil
        }
    }
}
