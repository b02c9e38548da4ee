// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import NIOCore
import NIOPosix
import OptimistLoopback
import OptimistServing
import OptimistWire
import Testing

@testable import OptimistServer

/// What the operator sees of a running server, and what stays hidden.
@Suite(.timeLimit(.minutes(20)))
struct AdminTests {
    let site = Site()

    /// Runs the server with an operator's port during `body`.
    private func serving(
        _ body: (OptimistServer, _ users: HTTPSide, _ operator: HTTPSide) async throws -> Void
    ) async throws {
        try await site.serving(change: { $0.adminPort = 0 }) { server, users async throws in
            let port = try #require(try await server.adminPort)
            try await body(server, users, HTTPSide(base: "http://127.0.0.1:\(port)"))
        }
    }

    private func add(_ number: Int, _ content: String, _ server: OptimistServer, _ person: Person) async throws {
        let create: JSON = [RowKey.id(number): ["content": .string(content)]]
        _ = try await server.call(person, "todo/set", ["create": create])
    }

    @Test func `O1 the operator's port also closes a connection whose request head never ends`() async throws {
        let change: (inout ServerConfiguration) -> Void = { configuration in
            configuration.adminPort = 0
            configuration.idleTimeout = .milliseconds(200)
        }
        try await site.serving(change: change) { server, _ async throws in
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(HTTPSide.patience)
                .connect(host: "127.0.0.1", port: try #require(try await server.adminPort)).get()
            // On a slow machine the server has already closed the connection, and the write fails.
            try? await channel.writeAndFlush(ByteBuffer(string: "GET /metrics HTTP/1.1\r\nHo")).get()
            try await channel.closeFuture.get()
        }
    }

    @Test func `O1 without a setting, the operator's port is closed`() async throws {
        try await site.serving { server, users async throws in
            #expect(try await server.adminPort == nil)
            for path in ["/metrics", "/admin", "/admin/api/overview"] {
                #expect(try await users.get(path).status == 404)
            }
        }
    }

    @Test(arguments: [
        ["host": "evil.example"], ["origin": "http://evil.example"], ["sec-fetch-site": "cross-site"],
        ["sec-fetch-site": "same-site"], ["origin": "null"],
    ])
    func `O1 requests from other sites' pages are refused on the operator's port`(headers: [String: String])
        async throws
    {
        try await serving { _, _, admin in
            for path in ["/metrics", "/admin/api/overview", "/admin/api/accounts", "/admin/main.js"] {
                #expect(try await admin.get(path, headers: headers).status == 403)
                #expect(try await admin.get(path).status != 403)
            }
            let answer = try await admin.send(
                "POST", "/admin/api/accounts/a/sessions/s/end",
                headers: headers.merging(["content-type": "application/json"]) { $1 }, body: Array("{}".utf8))
            #expect(answer.status == 403)
        }
    }

    @Test func `O1 a link may open the page, which cannot be framed and loads only its own resources`()
        async throws
    {
        try await serving { _, _, admin in
            let link = ["sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"]
            for path in ["/admin", "/admin/"] {
                let page = try await admin.get(path, headers: link)
                #expect(page.status == 200 && page.headers["content-type"] == ["text/html; charset=utf-8"])
                let policy = try #require(page.headers["content-security-policy"].first)
                #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
                for file in String(decoding: page.body, as: UTF8.self).matches(of: /"(\/admin\/[^"]+)"/) {
                    #expect(try await admin.get(String(file.1)).status == 200)
                }
            }
        }
    }

    @Test func `accounts are found by address prefix, page by page`() async throws {
        try await serving { server, _, admin in
            for name in ["Anna", "anton", "berta", "an_x", "bert%"] {
                _ = try await server.signUp("\(name)@example.org")
            }
            func addresses(_ query: String) async throws -> [String] {
                let page = try await admin.get("/admin/api/accounts?\(query)").json
                return page["accounts"]?.array?.compactMap { $0["email"]?.string } ?? []
            }
            #expect(try await addresses("prefix=AN") == ["an_x", "Anna", "anton"].map { "\($0)@example.org" })
            #expect(try await addresses("prefix=an_") == ["an_x@example.org"])
            #expect(try await addresses("prefix=bert%25") == ["bert%@example.org"])
            #expect(try await addresses("prefix=zz").isEmpty)
            var (all, after): ([String], String?) = ([], nil)
            repeat {
                let page = try await admin.get("/admin/api/accounts?limit=2&after=\(after ?? "")").json
                all += page["accounts"]?.array?.compactMap { $0["email"]?.string } ?? []
                after = page["next"]?.string?.replacing("%", with: "%25")
            } while after != nil
            #expect(all == ["an_x", "Anna", "anton", "bert%", "berta"].map { "\($0)@example.org" })
            #expect(try await admin.get("/admin/api/accounts?limit=0").status == 400)
            #expect(try await admin.get("/admin/api/accounts?limit=201").status == 400)
        }
    }

    @Test func `an account's page shows its sessions and rows, including deleted ones, with each column's clock`()
        async throws
    {
        try await serving { server, _, admin in
            let person = try await server.signUp()
            for number in 1...3 { try await add(number, "Content \(number)", server, person) }
            _ = try await server.call(person, "todo/set", ["destroy": [.string(RowKey.id(2))]])
            let account = try await admin.get("/admin/api/accounts/\(person.account)").json
            #expect(account["email"] == "a@example.org" && account["sessions"]?.array?.count == 1)
            #expect(account["types"]?.array?.first { $0["name"] == "todo" }?["rows"] == 2)
            let path = "/admin/api/accounts/\(person.account)/rows?type=todo"
            let first = try await admin.get("\(path)&limit=2").json
            let next = try #require(first["next"]?.string)
            let second = try await admin.get("\(path)&after=\(next)").json
            let rows = (first["rows"]?.array ?? []) + (second["rows"]?.array ?? [])
            #expect(rows.compactMap { $0["id"]?.string } == [1, 3, 2].map(RowKey.id))
            let column = rows[0]["columns"]?.array?.first { $0["name"] == "content" }
            #expect(column?["value"] == "Content 1" && column?["clock"]?["device"]?.string?.isEmpty == false)
            #expect(rows[2]["isAlive"] == false && rows[2]["deleted"]?["time"]?.string != nil)
            #expect(try await admin.get("\(path)&id=\(RowKey.id(3))").json["rows"]?.array?.count == 1)
            for (query, status) in [
                ("type=nothing", 400), ("", 400), ("type=todo&after=x", 400), ("type=todo&after=-1.0", 400),
            ] {
                #expect(
                    try await admin.get("/admin/api/accounts/\(person.account)/rows?\(query)").status == status)
            }
            #expect(try await admin.get("/admin/api/accounts/nobody").status == 404)
            #expect(try await admin.get("/admin/api/accounts/nobody/rows?type=todo").status == 404)
        }
    }

    @Test func `O2 the operator can end a session and change nothing else`() async throws {
        try await serving { server, users, admin in
            let person = try await server.signUp()
            let page = try await admin.get("/admin/api/accounts/\(person.account)").json
            let session = try #require(page["sessions"]?.array?.first?["id"]?.string)
            let path = "/admin/api/accounts/\(person.account)/sessions/\(session)/end"
            #expect(try await admin.send("POST", path, headers: ["content-type": "text/plain"]).status == 415)
            #expect(try await users.get("/jmap/session", token: person.access).status == 200)
            let json = ["content-type": "application/json"]
            #expect(try await admin.send("POST", path + "x", headers: json, body: Array("{}".utf8)).status == 404)
            #expect(try await admin.send("POST", path, headers: json, body: Array("{}".utf8)).status == 200)
            let refused = try await users.get("/jmap/session", token: person.access)
            #expect(refused.status == 401 && refused.json["reason"] == "revoked")
            let router = Router(context: LocalRequestContext.self)
            server.adminRoutes(nil).add(to: router)
            let writing = router.routes.filter { $0.method != .get }.map(\.path.description)
            #expect(writing == ["/admin/api/accounts/{account}/sessions/{session}/end"])
        }
    }

    @Test func `recent refusals are listed by id and code, without values`() async throws {
        try await serving { server, users, admin in
            let person = try await server.signUp()
            let secret = "A private sentence"
            _ = try await server.call(
                person, "todo/set",
                ["create": [RowKey.id(7): ["content": .string(secret), "nonsense": .string(secret)]]])
            #expect(try await users.post("/auth/sign-in", JSON.entry("a@example.org", password: "wrong")).status == 400)
            #expect(try await users.post("/jmap", Array("{".utf8), token: person.access).status == 400)
            let answer = try await admin.get("/admin/api/refusals")
            let refusals = try #require(answer.json["refusals"]?.array)
            #expect(refusals.map { $0["code"]?.string } == ["notJSON", "invalid_grant", "invalidProperties"])
            #expect(refusals[2]["id"]?.string == RowKey.id(7) && refusals[2]["account"]?.string == person.account)
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(!text.contains(secret) && !text.contains("a@example.org"))
        }
    }

    @Test func `recent refusals are bounded in number and size, and the newest are kept`() {
        let refusals = RecentRefusals(now: { Date(timeIntervalSince1970: 0) })
        for number in 1...(RecentRefusals.limit + 10) {
            refusals.add("\(number)" + String(repeating: "x", count: 10_000), status: 400, route: "/", account: nil)
        }
        let all = refusals.all
        #expect(all.count == RecentRefusals.limit && all.allSatisfy { $0.code.count <= 100 })
        #expect(all.first?.code.hasPrefix("510x") == true && all.last?.code.hasPrefix("11x") == true)
    }

    @Test func `O2 no answer to the operator contains a password, hash, token or secret`() async throws {
        try await serving { server, users, admin in
            let person = try await users.signUp()
            try await add(1, "x", server, person)
            _ = try await users.post("/auth/sign-in", JSON.entry("a@example.org", password: "not the password"))
            _ = try await users.form("/auth/token", "grant_type=refresh_token&refresh_token=\(person.refresh)x")
            _ = try await users.get("/jmap/session", token: person.access + "x")
            let hash = try #require(try await server.registry.store.account(id: person.account)?.password)
            let sessions = try await server.registry.store.sessions(of: person.account, refreshedSince: 0)
            let salt = try #require(sessions.first?.salt)
            let keys = site.directory.appending(path: "keys.json")
            let secret = (try? String(contentsOf: keys, encoding: .utf8)) ?? SharedDatabase.secret
            var secrets = [hash, person.access, person.refresh, "correct horse", "not the password"]
            secrets += secret.matches(of: /[A-Za-z0-9+\/=_-]{20,}/).map { String($0.0) }
            secrets += [Data(salt).base64EncodedString(), salt.map { String(format: "%02x", $0) }.joined()]
            secrets += hash.split(separator: "$").map(String.init).filter { $0.count > 15 }
            #expect(secrets.count > 7)
            for path in [
                "/metrics", "/admin", "/admin/api/overview", "/admin/api/refusals", "/admin/api/accounts",
                "/admin/api/accounts/\(person.account)", "/admin/api/accounts/\(person.account)/rows?type=todo",
            ] {
                let answer = try await admin.get(path)
                let text = String(decoding: answer.body, as: UTF8.self) + "\(answer.headers)"
                for secret in secrets { #expect(!text.contains(secret), "\(path)") }
            }
        }
    }
}
