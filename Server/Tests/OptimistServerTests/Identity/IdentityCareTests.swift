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

    // MARK: - Several identities

    @Test func `I6 a signed-in user adds identities, lists them, and removes all but the last way in`() async throws {
        let (first, second) = (FakeIssuer(site), FakeIssuer(site, name: "second", issuer: "https://second.example.org"))
        try await site.serving([first, second]) { server, http async throws in
            let ann = try Person(await http.exchange(first.token("ann")).json)
            func proof() throws -> JSON { .identity(try first.token("ann")) }
            let added = try await http.link(second.token("ann-2"), to: ann, proof())
            #expect(added.status == 201 && added.json["issuer"] == "https://second.example.org")
            #expect(try await http.link(second.token("ann-2"), to: ann, proof()).json["reason"] == "identity_taken")
            let bob = try await http.signUp("bob@example.org", device: "bob")
            #expect(try await http.link(first.token("ann"), to: bob).json["reason"] == "identity_taken")
            #expect(try await http.link("token", to: bob).json["reason"] == "token_malformed")
            #expect(try await http.post("/auth/identities", JSON.password, token: bob.access).status == 400)
            let tablet = try Person(await http.exchange(second.token("ann-2"), device: "tablet").json)
            #expect(tablet.account == ann.account)

            let list = try await http.get("/auth/identities", token: ann.access).json
            let ids = list["identities"]?.array?.compactMap { $0["id"]?.string } ?? []
            #expect(ids.count == 2 && list["hasPassword"] == false)
            #expect(!"\(list)".contains("ann-2"), "no subject")
            func proof2() throws -> JSON { .identity(try second.token("ann-2")) }
            #expect(try await http.unlink(ids[0], from: bob).status == 404)
            #expect(try await http.unlink(ids[0], from: ann, proof()).status == 200, "by the removed identity")
            #expect(try await http.unlink(ids[0], from: ann, proof2()).status == 404)
            #expect(try await http.unlink(ids[1], from: ann, proof2()).json["reason"] == "last_way_in")
            // The removed identity signs in to another account.
            #expect(try Person(await http.exchange(first.token("ann"), device: "x").json).account != ann.account)
            #expect(try await http.link(first.token("bob-1"), to: bob).status == 201)
            let only = try await http.get("/auth/identities", token: bob.access).json
            let id = try #require(only["identities"]?.array?.first?["id"]?.string)
            #expect(only["hasPassword"] == true)
            #expect(try await http.unlink(id, from: bob).status == 200, "the password is left")
        }
    }

    @Test func `I6 a session alone adds and removes nothing: it takes the password or a fresh token of the account`()
        async throws
    {
        let (issuer, book) = (FakeIssuer(site), LogBook())
        let change: (inout ServerConfiguration) -> Void = { configuration in
            configuration.logger = book.logger
            // Wrong passwords do not reach the limit here.
            configuration.signInBurstPerAccount = 100
        }
        try await site.serving([issuer], change: change) { server, http async throws in
            let ann = try Person(await http.exchange(issuer.token("ann")).json)
            let bob = try await http.signUp("bob@example.org", device: "bob")
            let id = try #require(await http.link(issuer.token("bob"), to: bob).json["id"]?.string)
            let old = try issuer.token("ann", ["auth_time": .int(Int64(site.now.timeIntervalSince1970) - 361)])
            let used = try issuer.token("ann")
            _ = try await http.exchange(used, device: "tablet")
            let wrong: [(Person, JSON, JSON?)] = [
                (bob, ["password": "wrong horse"], "wrong_password"), (bob, [:], nil), (bob, .null, nil),
                (bob, .identity(try issuer.token("thief")), "foreign_identity"),
                (ann, .password, "wrong_password"), (ann, .identity(old), "token_stale"),
                (ann, .identity(used), "token_used"), (ann, .identity(try issuer.token("bob")), "foreign_identity"),
            ]
            let before = book.events.count
            for (person, confirmation, reason) in wrong {
                for answer in [
                    try await http.link(issuer.token("thief-2"), to: person, confirmation),
                    try await http.unlink(id, from: person, confirmation),
                ] { #expect(answer.status == 400 && answer.json["reason"] == reason, "\(confirmation)") }
            }
            let thief: JSON = .identity(try issuer.token("thief-3"))
            #expect(try await http.post("/auth/identities", thief, token: bob.access).status == 400)
            // The others have not the form of a confirmation.
            #expect(book.events.dropFirst(before) == Array(repeating: "identity_refused", count: 12)[...])
            for person in [ann, bob] {
                let list = try await http.get("/auth/identities", token: person.access).json["identities"]?.array
                #expect(list?.count == 1)
            }
            // A refused confirmation does not use the new identity's token up.
            let token = try issuer.token("bob-2")
            #expect(try await http.link(token, to: bob, ["password": "wrong horse"]).status == 400)
            #expect(try await http.link(token, to: bob, .identity(issuer.token("bob"))).status == 201)
        }
    }

    @Test func `I6 a password that nobody can enter is no way in, and the operator does not reset it`() async throws {
        let (first, second) = (FakeIssuer(site), FakeIssuer(site, name: "second", issuer: "https://second.example.org"))
        try await site.serving([first, second]) { server, http async throws in
            let ann = try Person(await http.exchange(first.token("ann")).json)
            let placeholder = "\(ann.account)@identity.invalid"
            let error = await #expect(throws: OptimistError.self) {
                try await server.carryOut(.reset(email: placeholder))
            }
            #expect(error?.code == .notFound && error?.message.contains("does not have an email address") == true)
            // As an earlier version could have set it.
            let accounts = server.registry
            let stored = try #require(try await accounts.store.account(id: ann.account))
            let hash = try await accounts.hash("correct horse")
            #expect(try await accounts.store.setPassword(of: stored, to: hash, keeping: nil, at: 0) != nil)
            let again = try Person(await http.exchange(first.token("ann")).json)
            let list = try await http.get("/auth/identities", token: again.access).json
            #expect(list["hasPassword"] == false)
            let id = try #require(list["identities"]?.array?.first?["id"]?.string)
            #expect(try await http.unlink(id, from: again).json["reason"] == "last_way_in")
        }
    }

    @Test func `I6 an unknown provider and a disabled password do not count as ways to sign in`() async throws {
        let (first, second) = (FakeIssuer(site), FakeIssuer(site, name: "second", issuer: "https://second.example.org"))
        let ann = try await site.serving([first, second]) { server, http async throws in
            let ann = try await http.signUp("ann@example.org")
            for token in [try first.token("ann"), try second.token("ann")] {
                #expect(try await http.link(token, to: ann).status == 201)
            }
            return ann
        }
        try await site.serving([first], change: { $0.signIn = .identity }) { server, http async throws in
            let list = try await http.get("/auth/identities", token: ann.access).json
            #expect(
                list["identities"]?.array?.map { $0["provider"] } == ["test", .null] && list["hasPassword"] == false)
            let ids = list["identities"]?.array?.compactMap { $0["id"]?.string } ?? []
            func proof() throws -> JSON { .identity(try first.token("ann")) }
            #expect(try await http.unlink(ids[0], from: ann, proof()).json["reason"] == "last_way_in")
            #expect(try await http.unlink(ids[1], from: ann).json["reason"] == "passwords_off")
            #expect(try await http.unlink(ids[1], from: ann, proof()).status == 200)
        }
    }

    @Test func `I6 an account has at most 20 identities`() async throws {
        let issuer = FakeIssuer(site)
        try await site.serving([issuer]) { server, http async throws in
            let ann = try Person(await http.exchange(issuer.token("ann")).json)
            for number in 2...21 {
                let answer = try await http.link(
                    issuer.token("ann-\(number)"), to: ann, .identity(issuer.token("ann")))
                #expect(answer.json["reason"] == (number <= 20 ? nil : "too_many_identities"))
            }
        }
    }

    // MARK: - Without a password

    @Test func `I7 an account without a password answers like any account to a wrong password`() async throws {
        let issuer = FakeIssuer(site, joinsByEmail: true)
        try await site.serving([issuer]) { server, http async throws in
            let ann = try Person(await http.exchange(issuer.token("ann", .email("ann@example.org"))).json)
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
        try await site.serving([issuer]) { server, http async throws in
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

    @Test func `I7 the token of an identity does not delete an account that has a password`() async throws {
        let issuer = FakeIssuer(site)
        try await site.serving([issuer]) { server, http async throws in
            let ann = try await http.signUp("ann@example.org")
            #expect(try await http.link(issuer.token("ann"), to: ann).status == 201)
            let token = try issuer.token("ann")
            let refused = try await http.post("/auth/delete-account", JSON.identity(token), token: ann.access)
            #expect(refused.status == 400 && refused.json["reason"] == "password_needed")
            #expect(try await http.exchange(token, device: "tablet").status == 200, "not used up")
            #expect(try await http.post("/auth/delete-account", JSON.password, token: ann.access).status == 200)
        }
    }

    @Test func `I7 where people sign in with passwords only, an identity still deletes its account, and does no more`()
        async throws
    {
        let issuer = FakeIssuer(site)
        let ann = try await site.serving([issuer]) { _, http async throws in
            try Person(await http.exchange(issuer.token("ann")).json)
        }
        try await site.serving([issuer], change: { $0.signIn = .password }) { _, http async throws in
            #expect(try await http.exchange(issuer.token("ann")).json["reason"] == "identities_off")
            let proof: JSON = .identity(try issuer.token("ann"))
            #expect(try await http.link(issuer.token("new"), to: ann, proof).json["reason"] == "identities_off")
            let foreign: JSON = .identity(try issuer.token("bob"))
            let refused = try await http.post("/auth/delete-account", foreign, token: ann.access)
            #expect(refused.json["reason"] == "foreign_identity")
            #expect(try await http.post("/auth/delete-account", proof, token: ann.access).status == 200)
        }
    }

    // MARK: - The operator's side

    @Test func `I8 where people sign in with identities only, an account with a password stays closed to identities`()
        async throws
    {
        let issuer = FakeIssuer(site, joinsByEmail: true)
        let bob = try await site.serving([issuer]) { _, http async throws in
            let ann = try await http.signUp("ann@example.org")
            #expect(try await http.link(issuer.token("ann"), to: ann).status == 201)
            return try await http.signUp("bob@example.org", device: "bob")
        }
        try await site.serving([issuer], change: { $0.signIn = .identity }) { _, http async throws in
            let claims: JSONObject = .email("bob@example.org")
            #expect(try await http.exchange(issuer.token("bob", claims)).json["reason"] == "account_exists")
            #expect(try await http.link(issuer.token("bob"), to: bob).json["reason"] == "passwords_off")
            let ann = try Person(await http.exchange(issuer.token("ann")).json)
            let proof: JSON = .identity(try issuer.token("ann"))
            #expect(try await http.post("/auth/delete-account", proof, token: ann.access).status == 200)
        }
    }

    @Test func `I8 a server for identities only refuses passwords, and one without providers does not start`()
        async throws
    {
        let issuer = FakeIssuer(site)
        try await site.serving([issuer], change: { $0.signIn = .identity }) { server, http async throws in
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
        let presets: [IdentityProvider] = [
            .apple(audiences: ["app"]), .google(audiences: ["app"]), .firebase(project: "demo"),
        ]
        for preset in presets {
            #expect(
                try await error { provider in
                    provider = preset
                    (provider.keys, provider.algorithms) = (.secret(file: missing), [.hs256])
                }.contains("Remove the secret"))
        }
        let twice = await #expect(throws: OptimistError.self) {
            try await Site().open { $0.identityProviders = [good, good] }
        }
        #expect(twice?.message.contains(DraftToken.issuer) == true)
    }

    @Test func `I8 refusals are lines of the security log, without tokens, subjects and addresses`() async throws {
        let (issuer, book) = (FakeIssuer(site), LogBook())
        try await site.serving([issuer], change: { $0.logger = book.logger }) { server, http async throws in
            let token = try issuer.token("ann", .email("ann@example.org"))
            let ann = try Person(await http.exchange(token).json)
            _ = try await http.exchange(token)
            let second = try issuer.token("ann-2")
            let proof: JSON = .identity(try issuer.token("ann"))
            _ = try await http.link(token, to: ann, proof)
            let added = try await http.link(second, to: ann, .identity(issuer.token("ann")))
            let id = try #require(added.json["id"]?.string)
            _ = try await http.unlink(id, from: ann, .identity(issuer.token("ann")))
            #expect(book.events == ["sign_in_refused", "identity_refused", "identity_linked", "identity_removed"])
            let text = "\(book.lines)"
            for secret in [token, second, "ann-2", "example.org", "k1"] { #expect(!text.contains(secret)) }
        }
    }

    @Test func `I8 token exchanges count like sign-ins, for an address and for an identity`() async throws {
        let issuer = FakeIssuer(site)
        try await site.serving([issuer], change: { ($0.signInBurstPerAddress, $0.signInBurstPerAccount) = (8, 3) }) {
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
        try await site.serving([issuer]) { server, http async throws in
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
