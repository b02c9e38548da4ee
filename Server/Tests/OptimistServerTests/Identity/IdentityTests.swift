// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Signing in with the token of a provider.
@Suite(.timeLimit(.minutes(20)))
struct IdentityTests {
    private let site = Site()

    // MARK: - Signing in

    @Test func `I5 an identity makes an account, and signs in to it on a second device`() async throws {
        let issuer = FakeIssuer(site, joinsByEmail: true)
        try await site.serving([issuer]) { server, http async throws in
            let answer = try await http.exchange(issuer.token("ann", .email("Ann@example.org")))
            #expect(answer.status == 200 && answer.json["email"] == "Ann@example.org")
            #expect(answer.json["issued_token_type"] == "urn:ietf:params:oauth:token-type:access_token")
            let phone = try Person(answer.json)
            let tablet = try Person(await http.exchange(issuer.token(), device: "tablet").json)
            #expect(phone.account == tablet.account && phone.access != tablet.access)
            let sessions = try await http.get("/auth/sessions", token: phone.access).json["sessions"]?.array
            #expect(sessions?.count == 2 && sessions?.allSatisfy { $0["device"] == "Phone" } == true)
            let refreshed = try await http.form(
                "/auth/token", "grant_type=refresh_token&refresh_token=\(phone.refresh)")
            #expect(refreshed.status == 200)
            let other = try await http.exchange(issuer.token("bob"))
            #expect(other.json["email"] == .null)
            #expect(try Person(other.json).account != phone.account)
            let session = try await http.get("/.well-known/jmap", token: Person(other.json).access)
            #expect(session.json["username"] == .string("\(try Person(other.json).account)@identity.invalid"))
        }
    }

    @Test func `I5 a sign-in with an identity ends the sessions that a sign-in with a password ends`() async throws {
        let issuer = FakeIssuer(site)
        try await site.serving([issuer], change: { $0.allowsOneDeviceOnly = true }) { server, http async throws in
            let phone = try Person(await http.exchange(issuer.token()).json)
            _ = try Person(await http.exchange(issuer.token(), device: "tablet").json)
            let answer = try await http.get("/auth/sessions", token: phone.access)
            #expect(answer.status == 401 && answer.json["reason"] == "signed_in_elsewhere")
        }
    }

    @Test func `I5 many first sign-ins at once make one account`() async throws {
        let issuer = FakeIssuer(site, joinsByEmail: true)
        try await site.serving([issuer]) { server, http async throws in
            let accounts = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<8 {
                    let token = try issuer.token("ann", .email("ann@example.org"))
                    group.addTask { try Person(await http.exchange(token, device: "phone\(number)").json).account }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(accounts.count == 1)
        }
    }

    @Test func `I5 a form without its parts is refused, each with a sentence`() async throws {
        let issuer = FakeIssuer(site)
        try await site.serving([issuer]) { server, http async throws in
            for missing in ["subject_token", "subject_token_type", "device_id"] {
                let answer = try await http.exchange(issuer.token(), [missing: ""])
                #expect(answer.status == 400 && answer.json["error"] == "invalid_request", "\(missing)")
                #expect(answer.json["error_description"]?.string?.contains(missing) == true)
            }
            let kind = ["subject_token_type": "urn:ietf:params:oauth:token-type:access_token"]
            #expect(try await http.exchange(issuer.token(), kind).status == 400)
            let unknown = try await http.exchange(issuer.token(), ["grant_type": "password"])
            #expect(unknown.json["error"] == "unsupported_grant_type")
        }
    }

    @Test func `I5 the server's metadata names the grant, the mode and the issuers`() async throws {
        let path = "/.well-known/oauth-authorization-server"
        let grant: JSON = "urn:ietf:params:oauth:grant-type:token-exchange"
        try await site.serving([FakeIssuer(site)]) { _, http async throws in
            let metadata = try await http.get(path).json
            #expect(metadata["optimist_sign_in"] == "both")
            #expect(metadata["grant_types_supported"]?.array?.contains(grant) == true)
            #expect(metadata["optimist_identity_issuers"] == [.string(DraftToken.issuer)])
        }
        try await Site().serving { _, http async throws in
            let metadata = try await http.get(path).json
            #expect(
                metadata["optimist_sign_in"] == "password" && metadata["grant_types_supported"] == ["refresh_token"])
            let answer = try await http.exchange("token")
            #expect(answer.status == 403 && answer.json["reason"] == "identities_off")
        }
    }

    // MARK: - Once

    @Test func `I3 a token is good once, also with another valid signature`() async throws {
        let issuer = FakeIssuer(site)
        try await site.serving([issuer]) { server, http async throws in
            for token in [try issuer.token(), try issuer.token("ann", ["jti": .null, "more": "so that it differs"])] {
                #expect(try await http.exchange(token).status == 200)
                for _ in 0..<2 { #expect(try await http.exchange(token).json["reason"] == "token_used") }
                #expect(try await http.exchange(token.withOtherSignature).json["reason"] == "token_used")
            }
        }
    }

    @Test func `I3 a refusal for another reason does not use a token up`() async throws {
        let issuer = FakeIssuer(site)
        try await site.serving([issuer], change: { $0.signUp = .invited }) { server, http async throws in
            let token = try issuer.token()
            #expect(try await http.exchange(token).json["reason"] == "invitation_needed")
            #expect(try await http.exchange(token, ["invitation": "i1..AAAA"]).json["reason"] == "invalid_invitation")
            let invitation = try #require(await server.carryOut(.invite(days: 1))["invitation"]?.string)
            #expect(try await http.exchange(token, ["invitation": invitation]).status == 200)
            #expect(try await http.exchange(token).json["reason"] == "token_used")
            let other = try await http.exchange(issuer.token("bob"), ["invitation": invitation])
            #expect(other.status == 403 && other.json["reason"] == "invalid_invitation")
        }
    }

    @Test func `I3 a used token is remembered until it has expired, and then forgotten`() async throws {
        let issuer = FakeIssuer(site)
        try await site.serving([issuer]) { server, http async throws in
            let token = try issuer.token()
            #expect(try await http.exchange(token).status == 200)
            for (seconds, reason) in [(599.0, "token_used"), (60, "token_used"), (1, "token_expired")] {
                site.advance(by: seconds)
                try await server.registry.forgetSessions()
                #expect(try await http.exchange(token).json["reason"]?.string == reason)
            }
            site.advance(by: 120)
            try await server.registry.forgetSessions()
            // The store has forgotten it, so it could be spent again.
            let proof = SpentToken(hash: try spentHash(of: token), endsAt: 0)
            try await server.registry.store.spend(proof)
        }
    }

    private func spentHash(of token: String) throws -> Data {
        let signed = try SignedToken(token)
        let provider = FakeIssuer(site).provider
        let issued = signed.payload["iat"]?.double ?? 0
        return try TokenCheck(provider: provider, now: issued, nonce: nil).proof(of: signed).token.hash
    }

    @Test func `I3 a token that one process has used is used for every process, and after a restart`() async throws {
        let issuer = FakeIssuer(site)
        let token = try await site.serving([issuer]) { server, http async throws in
            let token = try issuer.token()
            #expect(try await http.exchange(token).status == 200)
            if site.database != nil {
                let other = try await site.open { FakeIssuer.use([issuer], &$0) }
                let entry = try Accounts.IdentityEntry(form: [
                    "subject_token": token, "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
                    "device_id": "tablet",
                ])
                let refusal = await #expect(throws: AuthRefusal.self) {
                    try await other.registry.signIn(entry, from: Caller(address: "test"))
                }
                #expect(refusal?.reason == "token_used")
            }
            return token
        }
        try await site.serving([issuer]) { _, http async throws in
            #expect(try await http.exchange(token).json["reason"] == "token_used")
        }
    }

    // MARK: - Accounts

    @Test func `I5 an unknown identity is refused where sign-up is closed, and a known one is not`() async throws {
        let issuer = FakeIssuer(site)
        try await site.serving([issuer]) { _, http async throws in
            #expect(try await http.exchange(issuer.token()).status == 200)
            _ = try await http.signUp("a@example.org", device: "other")
        }
        try await site.serving([issuer], change: { $0.signUp = .closed }) { _, http async throws in
            #expect(try await http.exchange(issuer.token()).status == 200)
            let answer = try await http.exchange(issuer.token("bob"))
            #expect(answer.status == 403 && answer.json["reason"] == "sign_up_closed")
            // Also for an address that has an account, so that the provider's users cannot look for accounts.
            let known = try await http.exchange(issuer.token("bob", .email("a@example.org", isVerified: false)))
            #expect(known.json["reason"] == "sign_up_closed")
        }
    }

    struct Joining: Sendable, CustomTestStringConvertible {
        var isAllowed: Bool
        var isVerified: Bool
        var hasPassword: Bool
        var joins: Bool { isAllowed && isVerified && !hasPassword }
        var testDescription: String { "\(isAllowed) \(isVerified) \(hasPassword)" }
        static let all = [true, false].flatMap { a in
            [true, false].flatMap { b in [true, false].map { Joining(isAllowed: a, isVerified: b, hasPassword: $0) } }
        }
    }

    @Test(arguments: Joining.all)
    func `I5 an identity joins an account with its verified address only where allowed, and one without a password`(
        joining: Joining
    ) async throws {
        let first = FakeIssuer(site, joinsByEmail: true)
        let second = FakeIssuer(
            site, name: "second", issuer: "https://second.example.org", joinsByEmail: joining.isAllowed)
        try await site.serving([first, second]) { server, http async throws in
            let owner =
                joining.hasPassword
                ? try await http.signUp("ann@example.org")
                : try Person(await http.exchange(first.token("ann", .email("ann@example.org"))).json)
            let claims: JSONObject = .email("ANN@example.org", isVerified: joining.isVerified)
            let answer = try await http.exchange(second.token("ann-2", claims), device: "tablet")
            if joining.joins {
                #expect(try Person(answer.json).account == owner.account)
                let list = try await http.get("/auth/identities", token: owner.access).json
                #expect(list["identities"]?.array?.map { $0["provider"] } == ["test", "second"])
            } else {
                #expect(answer.status == 400 && answer.json["reason"] == "account_exists")
                let list = try await http.get("/auth/identities", token: owner.access).json
                #expect(list["identities"]?.array?.count == (joining.hasPassword ? 0 : 1))
            }
        }
    }

    @Test func `I5 an account has no address from a provider that may not join, so nobody joins it there`() async throws
    {
        let careless = FakeIssuer(site, name: "careless", issuer: "https://careless.example.org")
        let trusted = FakeIssuer(site, joinsByEmail: true)
        try await site.serving([careless, trusted]) { server, http async throws in
            let claimed = try await http.exchange(careless.token("mallory", .email("ann@example.org")))
            #expect(claimed.status == 200 && claimed.json["email"] == .null)
            let ann = try await http.exchange(trusted.token("ann", .email("ann@example.org")), device: "tablet")
            #expect(ann.json["email"] == "ann@example.org")
            #expect(try Person(ann.json).account != Person(claimed.json).account)
            let late = try await http.exchange(careless.token("eve", .email("ann@example.org")))
            #expect(late.json["reason"] == "account_exists")
        }
    }

    @Test func `I5 an address that the provider does not vouch for stays free for its owner`() async throws {
        let issuer = FakeIssuer(site)
        try await site.serving([issuer]) { server, http async throws in
            let mallory = try Person(
                await http.exchange(issuer.token("mallory", .email("ann@example.org", isVerified: false))).json)
            let ann = try await http.signUp("ann@example.org", device: "tablet")
            #expect(mallory.account != ann.account)
            // No person has the placeholder, so nobody signs up with it or has its password reset.
            let placeholder = "\(mallory.account)@identity.invalid"
            let answer = try await http.post("/auth/sign-up", JSON.entry(placeholder))
            #expect(answer.json["reason"] == "invalid_email")
            let claimed = try await http.exchange(issuer.token("eve", .email(placeholder)))
            #expect(try Person(claimed.json).account != mallory.account)
        }
    }
}

extension String {
    /// The same token with the other signature that the same key could have made: `(r, n - s)`.
    fileprivate var withOtherSignature: String {
        let parts = split(separator: ".").map(String.init)
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]) else { return self }
        let order: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6,
            0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ]
        var (other, borrow) = ([UInt8](repeating: 0, count: 32), 0)
        for index in (0..<32).reversed() {
            let digit = Int(order[index]) - Int(signature[32 + index]) - borrow
            other[index] = UInt8(digit < 0 ? digit + 256 : digit)
            borrow = digit < 0 ? 1 : 0
        }
        return "\(parts[0]).\(parts[1]).\(Base64URL.encode(Array(signature.prefix(32)) + other))"
    }
}
