// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// What proxies, health checks and other clients expect of any server.
@Suite(.timeLimit(.minutes(20)))
struct MannersTests {
    let site = Site()

    @Test func `HEAD is answered like GET without a body, even for errors`() async throws {
        try await site.serving(change: { $0.routes = [AppRoute("/menu/:day") { _ in .init(status: .ok) }] }) {
            _, http async throws in
            let token = try await http.signUp().access
            await site.untilHousekeepingRests()
            for (path, status) in [
                ("/healthz", 200), ("/readyz", 200), ("/.well-known/jmap", 200), ("/jmap/session", 200),
                ("/jmap/eventsource?types=*&closeafter=no&ping=0", 200), ("/menu/friday", 200), ("/nowhere", 404),
                ("/.well-known/oauth-authorization-server", 200), ("/places", 404), ("/jmap", 405),
            ] {
                let answer = try await http.send("HEAD", path, token: token)
                #expect(answer.status == status && answer.body.isEmpty, "\(path)")
            }
            #expect(try await http.send("HEAD", "/.well-known/jmap").status == 401)
            let length = try await http.send("HEAD", "/healthz").headers["content-length"]
            #expect(length == ["15"])
        }
    }

    @Test func `the answer to a wrong method is 405 and lists the allowed methods`() async throws {
        try await site.serving(change: {
            $0.routes = [AppRoute("/menu/:day", method: .put) { _ in .init(status: .ok) }]
        }) {
            _, http async throws in
            for (method, path, allowed) in [
                ("GET", "/jmap/", "POST"), ("POST", "/healthz", "GET, HEAD"),
                ("DELETE", "/.well-known/jmap", "GET, HEAD"),
                ("OPTIONS", "/auth/sign-in", "POST"), ("GET", "/menu/friday", "PUT"),
            ] {
                let answer = try await http.send(method, path)
                #expect(answer.status == 405 && answer.headers["allow"] == [allowed], "\(method) \(path)")
                #expect(answer.headers["content-type"] == ["application/problem+json"])
            }
            #expect(try await http.send("PROPFIND", "/healthz").status == 501)
        }
    }

    @Test func `a compressed body is 415`() async throws {
        try await site.serving { server, http async throws in
            let person = try await http.signUp()
            for (path, coding, status) in [
                ("/jmap/", "gzip", 415), ("/auth/token", "br", 415), ("/jmap/", "identity", 400),
                ("/jmap/", "identity, zstd", 415),
            ] {
                let answer = try await http.send(
                    "POST", path, token: person.access, headers: ["content-encoding": coding], body: [0x1f, 0x8b])
                #expect(answer.status == status, "\(path) \(coding)")
                #expect(answer.headers["accept-encoding"] == (status == 415 ? ["identity"] : []))
            }
        }
    }

    @Test func `the session's URLs begin with the issuer's origin`() async throws {
        try await site.serving { _, http async throws in
            let token = try await http.signUp().access
            try await expectURLs(at: http.base, http, token)
        }
        for (proxied, origin) in [(true, "https"), (false, "http")] {
            try await Site().serving(change: { $0.isBehindProxy = proxied }) { _, http async throws in
                let token = try await http.signUp().access
                let headers = ["host": "sync.example.org", "x-forwarded-proto": "https"]
                try await expectURLs(at: "\(origin)://sync.example.org", http, token, headers)
            }
        }
        try await Site().serving(change: { $0.publicOrigin = "https://sync.example.org" }) { _, http async throws in
            let token = try await http.signUp().access
            try await expectURLs(at: "https://sync.example.org", http, token, ["host": "10.0.0.7:8090"])
        }
    }

    private func expectURLs(
        at origin: String, _ http: HTTPSide, _ token: String, _ headers: [String: String] = [:]
    ) async throws {
        let session = try await http.get("/.well-known/jmap", token: token, headers: headers).json
        #expect(session["apiUrl"]?.string == origin + "/jmap/")
        #expect(session["eventSourceUrl"]?.string?.hasPrefix(origin + "/jmap/eventsource?") == true)
        let metadata = try await http.get("/.well-known/oauth-authorization-server", headers: headers).json
        #expect(metadata["issuer"]?.string == origin)
        let core = session["capabilities"]?[RowSync.core]
        #expect(core?["maxSizeUpload"]?.int == 0 && core?["maxConcurrentUpload"]?.int == 0)
    }

    @Test(arguments: ["a b", "x/y", "a@b", "x,y", "x?y", "ä"])
    func `a Host that is not a valid name is refused with 400, because it would become part of URLs`(host: String)
        async throws
    {
        #expect(!RequestCheck.isHost(host))
        for name in ["x", "example.org:8090", "[::1]:80", ""] { #expect(RequestCheck.isHost(name)) }
    }

    @Test(arguments: [("example.org", "http://example.org"), ("", "http://localhost"), (nil, "http://localhost")])
    func `URLs have a host even if the client names none`(host: String?, origin: String) {
        let head = HTTPRequest(method: .get, scheme: "http", authority: host, path: "/")
        #expect(
            Hummingbird.Request(head: head, body: RequestBody(buffer: .init())).origin(isBehindProxy: false) == origin)
    }
}
