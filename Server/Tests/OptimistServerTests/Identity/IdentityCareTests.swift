// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// The identities of an account, accounts without a password, and the settings for providers.
@Suite(.timeLimit(.minutes(20)))
struct IdentityCareTests {
    private let site = Site()

    private func serving<Value: Sendable>(
        _ issuers: [FakeIssuer], change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (OptimistServer, HTTPSide) async throws -> Value
    ) async throws -> Value {
        try await site.serving(
            change: { configuration in
                FakeIssuer.use(issuers, &configuration)
                change(&configuration)
            }, body)
    }

    private func email(_ address: String, isVerified: Bool = true) -> JSONObject {
        ["email": .string(address), "email_verified": .bool(isVerified)]
    }

    // MARK: - Several identities

    @Test func `I6 a signed-in user adds identities, lists them, and removes all but the last way in`() async throws {
        let (first, second) = (FakeIssuer(site), FakeIssuer(site, name: "second", issuer: "https://second.example.org"))
        try await serving([first, second]) { server, http async throws in
            let ann = try Person(await http.exchange(first.token("ann")).json)
            func link(_ token: String, as person: Person) async throws -> HTTPSide.Answer {
                try await http.post("/auth/identities", ["identityToken": .string(token)], token: person.access)
            }
            let added = try await link(second.token("ann-2"), as: ann)
            #expect(added.status == 201 && added.json["issuer"] == "https://second.example.org")
            #expect(try await link(second.token("ann-2"), as: ann).json["reason"] == "identity_taken")
            let bob = try await http.signUp("bob@example.org", device: "bob")
            #expect(try await link(first.token("ann"), as: bob).json["reason"] == "identity_taken")
            #expect(try await link("token", as: bob).json["reason"] == "token_malformed")
            #expect(try await http.post("/auth/identities", [:] as JSON, token: bob.access).status == 400)
            let tablet = try Person(await http.exchange(second.token("ann-2"), device: "tablet").json)
            #expect(tablet.account == ann.account)

            let list = try await http.get("/auth/identities", token: ann.access).json
            let ids = list["identities"]?.array?.compactMap { $0["id"]?.string } ?? []
            #expect(ids.count == 2 && list["hasPassword"] == false)
            #expect(!"\(list)".contains("ann-2"), "no subject")
            func remove(_ id: String, as person: Person) async throws -> HTTPSide.Answer {
                try await http.send("DELETE", "/auth/identities/\(id)", token: person.access)
            }
            #expect(try await remove(ids[0], as: bob).status == 404)
            #expect(try await remove(ids[0], as: ann).status == 200)
            #expect(try await remove(ids[0], as: ann).status == 404)
            #expect(try await remove(ids[1], as: ann).json["reason"] == "last_way_in")
            // The removed identity signs in to another account.
            #expect(try Person(await http.exchange(first.token("ann"), device: "x").json).account != ann.account)
            #expect(try await link(first.token("bob-1"), as: bob).status == 201)
            let only = try await http.get("/auth/identities", token: bob.access).json
            let id = try #require(only["identities"]?.array?.first?["id"]?.string)
            #expect(only["hasPassword"] == true)
            #expect(try await remove(id, as: bob).status == 200, "the password is left")
        }
    }

    @Test
    func `I6 an unknown provider and a disabled password do not count as ways to sign in`()
        async throws
    {
        let (first, second) = (FakeIssuer(site), FakeIssuer(site, name: "second", issuer: "https://second.example.org"))
        let ann = try await serving([first, second]) { server, http async throws in
            let ann = try await http.signUp("ann@example.org")
            for token in [try first.token("ann"), try second.token("ann")] {
                let body: JSON = ["identityToken": .string(token)]
                #expect(try await http.post("/auth/identities", body, token: ann.access).status == 201)
            }
            return ann
        }
        try await serving([first], change: { $0.signIn = .identity }) { server, http async throws in
            let list = try await http.get("/auth/identities", token: ann.access).json
            #expect(
                list["identities"]?.array?.map { $0["provider"] } == ["test", .null] && list["hasPassword"] == false)
            let ids = list["identities"]?.array?.compactMap { $0["id"]?.string } ?? []
            #expect(
                try await http.send("DELETE", "/auth/identities/\(ids[0])", token: ann.access).json["reason"]
                    == "last_way_in")
            #expect(try await http.send("DELETE", "/auth/identities/\(ids[1])", token: ann.access).status == 200)
        }
    }

    @Test func `I6 an account has at most 20 identities`() async throws {
        let issuer = FakeIssuer(site)
        try await serving([issuer]) { server, http async throws in
            let ann = try Person(await http.exchange(issuer.token("ann")).json)
            for number in 2...21 {
                let body: JSON = ["identityToken": .string(try issuer.token("ann-\(number)"))]
                let answer = try await http.post("/auth/identities", body, token: ann.access)
                #expect(answer.json["reason"] == (number <= 20 ? nil : "too_many_identities"))
            }
        }
    }

    // MARK: - Without a password

    @Test func `I7 an account without a password answers like any account to a wrong password`() async throws {
        let issuer = FakeIssuer(site, joinsByEmail: true)
        try await serving([issuer]) { server, http async throws in
            let ann = try Person(await http.exchange(issuer.token("ann", email("ann@example.org"))).json)
            let missing = try await http.post("/auth/sign-in", JSON.entry("nobody@example.org"))
            for password in ["correct horse", ""] {
                let answer = try await http.post("/auth/sign-in", JSON.entry("ann@example.org", password: password))
                #expect(answer.status == missing.status && answer.body == missing.body)
            }
            let change: JSON = ["password": "correct horse", "newPassword": "battery staple"]
            #expect(try await http.post("/auth/password", change, token: ann.access).json["reason"] == "wrong_password")
            // The owner of the address can still set one.
            let reset = try #require(await server.carryOut(.reset(email: "ann@example.org"))["token"])
            let body: JSON = ["token": reset, "newPassword": "correct horse"]
            #expect(try await http.post("/auth/reset-password", body).status == 200)
            #expect(try await http.post("/auth/sign-in", JSON.entry("ann@example.org")).status == 200)
        }
    }

    @Test func `I7 deleting an account needs a fresh token of one of its identities, which then is new again`()
        async throws
    {
        let issuer = FakeIssuer(site)
        try await serving([issuer]) { server, http async throws in
            let ann = try Person(await http.exchange(issuer.token("ann")).json)
            _ = try await http.exchange(issuer.token("bob"), device: "bob")
            func delete(_ body: JSON) async throws -> HTTPSide.Answer {
                try await http.post("/auth/delete-account", body, token: ann.access)
            }
            func delete(_ token: String) async throws -> JSON? {
                try await delete(["identityToken": .string(token)] as JSON).json["reason"]
            }
            let old = try issuer.token("ann", ["auth_time": .int(Int64(site.now.timeIntervalSince1970) - 361)])
            #expect(try await delete(old) == "token_stale")
            #expect(try await delete(issuer.token("bob")) == "foreign_identity")
            #expect(try await delete(issuer.token("nobody")) == "foreign_identity")
            #expect(try await delete(["password": ""] as JSON).json["reason"] == "wrong_password")
            #expect(try await delete([:] as JSON).status == 400)
            let used = try issuer.token("ann")
            _ = try await http.exchange(used, device: "tablet")
            #expect(try await delete(used) == "token_used")
            let present = try Person(await http.exchange(issuer.token("ann")).json)
            let body: JSON = ["identityToken": .string(try issuer.token("ann"))]
            #expect(try await http.post("/auth/delete-account", body, token: present.access).status == 200)
            #expect(try await http.get("/auth/sessions", token: present.access).json["reason"] == "account_deleted")
            let again = try Person(await http.exchange(issuer.token("ann")).json)
            #expect(again.account != ann.account)
            #expect(try await site.count(of: "optimist_identities", account: ann.account) == 0)
        }
    }

    // MARK: - The operator's side

    @Test func `I8 a server for identities only refuses passwords, and one without providers does not start`()
        async throws
    {
        let issuer = FakeIssuer(site)
        try await serving([issuer], change: { $0.signIn = .identity }) { server, http async throws in
            let ann = try Person(await http.exchange(issuer.token()).json)
            let bodies: [(String, JSON)] = [
                ("sign-up", .entry("a@example.org")), ("sign-in", .entry("a@example.org")),
                ("password", ["password": "correct horse", "newPassword": "battery staple"]),
                ("delete-account", ["password": "correct horse"]), ("forgot-password", ["email": "a@example.org"]),
                ("reset-password", ["token": "p1.a1.AAAA", "newPassword": "battery staple"]),
            ]
            for (path, body) in bodies {
                let answer = try await http.post("/auth/\(path)", body, token: ann.access)
                #expect(answer.status == 403 && answer.json["reason"] == "passwords_off", "\(path)")
            }
        }
        let error = await #expect(throws: OptimistError.self) { try await Site().open { $0.signIn = .identity } }
        #expect(error?.code == .badIdentityProvider)
    }

    @Test func `I8 settings that cannot work end the start with a sentence`() async throws {
        let good = FakeIssuer(site).provider
        func error(_ change: (inout IdentityProvider) -> Void) async throws -> String {
            var provider = good
            change(&provider)
            let (other, bad) = (Site(), provider)
            let error = await #expect(throws: OptimistError.self) {
                try await other.open { $0.identityProviders = [bad] }
            }
            #expect(error?.code == .badIdentityProvider)
            return error?.message ?? ""
        }
        let missing = URL(filePath: "/missing/file")
        #expect(try await error { $0.audiences = [] }.contains("audience"))
        #expect(try await error { $0.issuer = "" }.contains("issuer"))
        #expect(try await error { $0.issuer = "http://login.example.org" }.contains("https"))
        #expect(try await error { $0.issuer = "file:///login" }.contains("https"))
        #expect(try await error { $0.keys = .url(URL(string: "http://10.0.0.1/keys") ?? missing) }.contains("https"))
        #expect(try await error { $0.algorithms = [] }.contains("algorithm"))
        #expect(try await error { $0.algorithms = [.hs256] }.contains("secret"))
        #expect(try await error { $0.keys = .file(missing) }.contains("cannot be read"))
        #expect(try await error { ($0.keys, $0.algorithms) = (.secret(file: missing), [.hs256]) }.contains("cannot be"))
        #expect(try await error { $0.keys = .secret(file: missing) }.contains("HS256 only"))
        let twice = await #expect(throws: OptimistError.self) {
            try await Site().open { $0.identityProviders = [good, good] }
        }
        #expect(twice?.message.contains(DraftToken.issuer) == true)
    }

    @Test func `I8 refusals are lines of the security log, without tokens, subjects and addresses`() async throws {
        let (issuer, book) = (FakeIssuer(site), LogBook())
        try await serving([issuer], change: { $0.logger = book.logger }) { server, http async throws in
            let token = try issuer.token("ann", email("ann@example.org"))
            let ann = try Person(await http.exchange(token).json)
            _ = try await http.exchange(token)
            let second = try issuer.token("ann-2")
            _ = try await http.post("/auth/identities", ["identityToken": .string(token)] as JSON, token: ann.access)
            let added = try await http.post(
                "/auth/identities", ["identityToken": .string(second)] as JSON, token: ann.access)
            let id = try #require(added.json["id"]?.string)
            _ = try await http.send("DELETE", "/auth/identities/\(id)", token: ann.access)
            #expect(book.events == ["sign_in_refused", "identity_refused", "identity_linked", "identity_removed"])
            let text = "\(book.lines)"
            for secret in [token, second, "ann-2", "example.org", "k1"] { #expect(!text.contains(secret)) }
        }
    }

    @Test func `I8 token exchanges count like sign-ins, for an address and for an identity`() async throws {
        let issuer = FakeIssuer(site)
        try await serving([issuer], change: { ($0.signInBurstPerAddress, $0.signInBurstPerAccount) = (8, 3) }) {
            server, http async throws in
            let token = try issuer.token()
            #expect(try await http.exchange(token).status == 200)
            for _ in 0..<3 { #expect(try await http.exchange(token).status == 400) }
            // Too many of one identity.
            let many = try await http.exchange(issuer.token())
            #expect(many.status == 429 && !many.headers["retry-after"].isEmpty)
            #expect(try await http.exchange(issuer.token("bob")).status == 200)
            for _ in 0..<2 { #expect(try await http.exchange("x").status == 400) }
            // Too many from one address.
            #expect(try await http.exchange(issuer.token("eve")).status == 429)
            #expect(try await http.post("/auth/sign-in", JSON.entry("a@example.org")).status == 429)
        }
    }

    @Test func `I4 a provider that fails affects new sign-ins only, and a new key is found`() async throws {
        let issuer = FakeIssuer(site)
        issuer.goDown()
        try await serving([issuer]) { server, http async throws in
            let bob = try await http.signUp("bob@example.org")
            let answer = try await http.exchange(issuer.token())
            #expect(answer.status == 503 && answer.json["reason"] == "keys_unavailable")
            #expect(answer.headers["retry-after"] == ["10"])
            #expect(try await http.get("/auth/sessions", token: bob.access).status == 200)
            issuer.goDown(false)
            site.advance(by: 10)
            let ann = try Person(await http.exchange(issuer.token()).json)
            issuer.goDown()
            #expect(try await http.exchange(issuer.token(), device: "tablet").status == 200, "by the known key")
            let refresh = try await http.form("/auth/token", "grant_type=refresh_token&refresh_token=\(ann.refresh)")
            #expect(refresh.status == 200)
            issuer.goDown(false)
            issuer.rotate(to: "otherP256", id: "k2")
            site.advance(by: 60)
            #expect(try await http.exchange(issuer.token(), device: "x").status == 200)
        }
    }
}
