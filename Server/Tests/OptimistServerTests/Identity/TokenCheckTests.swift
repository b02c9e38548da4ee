// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Tokens that are refused, each with its reason.
@Suite(.timeLimit(.minutes(20)))
struct TokenCheckTests {
    private static let secret = Array("a shared secret of more than 32 bytes".utf8)

    private static func provider(
        issuer: String = DraftToken.issuer, audiences: Set<String> = ["app", "web"],
        nonce: IdentityProvider.NonceRule = .plain
    ) -> IdentityProvider {
        IdentityProvider(name: "test", issuer: issuer, audiences: audiences, nonce: nonce)
    }

    /// Providers whose keys are the test's keys.
    private static func providers(_ provider: IdentityProvider, _ keys: [JSON]) throws -> IdentityProviders {
        var provider = provider
        provider.keys = .url(try #require(URL(string: "https://issuer.example.org/keys")))
        let set = JSON.object(["keys": .array(keys)]).bytes
        return try IdentityProviders([
            KeyRing(
                provider, fetch: { _ in set }, elapsed: { .zero }, spawn: { work in Task { await work() } },
                logger: SharedDatabase.quiet)
        ])
    }

    private static func keys() throws -> [JSON] {
        [
            try TokenKey.named("rsa").json(id: "r", algorithm: "RS256"),
            try TokenKey.named("otherRSA").json(id: "p", algorithm: "PS256"),
            try TokenKey.named("p256").json(id: "e", algorithm: "ES256"),
            try TokenKey.named("ed25519").json(id: "d", algorithm: "EdDSA"),
        ]
    }

    private func reason(
        _ text: String, nonce: String? = nil, maxAge: Double? = nil, _ provider: IdentityProvider = provider(),
        keys: [JSON]? = nil
    ) async throws -> String? {
        let providers = try Self.providers(provider, try keys ?? Self.keys())
        do {
            _ = try await providers.proof(of: text, nonce: nonce, maxAge: maxAge, at: DraftToken.now)
            return nil
        } catch let refusal as AuthRefusal {
            return refusal.reason ?? refusal.error
        }
    }

    // MARK: - Good tokens

    @Test(arguments: [
        ("rsa", "RS256", "r"), ("otherRSA", "PS256", "p"), ("p256", "ES256", "e"), ("ed25519", "EdDSA", "d"),
    ])
    func `I1 a genuine token of each algorithm proves its user`(name: String, algorithm: String, id: String)
        async throws
    {
        let draft = DraftToken(
            try .named(name), algorithm: algorithm, id: id, ["email": "Ann@Example.org", "email_verified": true])
        let proof = try await Self.providers(Self.provider(), Self.keys())
            .proof(of: draft.text(), nonce: nil, at: DraftToken.now)
        #expect(proof.identity == ProviderIdentity(issuer: DraftToken.issuer, subject: "user-1"))
        #expect(proof.verifiedEmail?.text == "Ann@Example.org" && proof.unverifiedEmail == nil)
    }

    @Test func `I2 times are accepted up to a minute off, and lists of audiences if all are this server's`()
        async throws
    {
        let now = Int64(DraftToken.now)
        let good: [JSONObject] = [
            ["exp": .int(now - 59)], ["exp": .double(Double(now) + 0.5)], ["exp": .int(now + 7 * 86_400)],
            ["nbf": .int(now + 60)], ["nbf": .int(now - 9)], ["iat": .int(now + 60)], ["iat": 0],
            ["aud": ["app"]], ["aud": ["web", "app"]], ["azp": "web"], ["aud": ["app", "other"], "azp": "web"],
            ["email_verified": "true"], ["sub": .string(String(repeating: "s", count: 255))], ["typ": "anything"],
        ]
        for claims in good {
            let draft = DraftToken(try .named("p256"), algorithm: "ES256", id: "e", claims)
            #expect(try await reason(draft.text()) == nil, "\(claims)")
        }
        var draft = DraftToken(try .named("p256"), algorithm: "ES256")
        draft.header["typ"] = nil
        #expect(try await reason(draft.text()) == nil, "one key of the algorithm, and no id")
    }

    // MARK: - Wrong tokens

    struct Wrong: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reason: TokenRefusal
        let text: @Sendable () throws -> String

        init(_ description: String, _ reason: TokenRefusal, _ text: @escaping @Sendable () throws -> String) {
            (testDescription, self.reason, self.text) = (description, reason, text)
        }

        /// A token with other claims.
        init(_ description: String, _ reason: TokenRefusal, _ claims: JSONObject) {
            self.init(description, reason) { try DraftToken(.named("rsa"), algorithm: "RS256", id: "r", claims).text() }
        }

        /// A token with another header. Null removes a member.
        init(_ description: String, _ reason: TokenRefusal, header: JSONObject) {
            self.init(description, reason) {
                var draft = DraftToken(try .named("rsa"), algorithm: "RS256", id: "r")
                for (name, value) in header { draft.header[name] = value.isNull ? JSON?.none : value }
                return try draft.text()
            }
        }

        /// A genuine token that was changed.
        init(_ description: String, _ reason: TokenRefusal, change: @escaping @Sendable ([String]) throws -> String) {
            self.init(description, reason) {
                let text = try DraftToken(.named("rsa"), algorithm: "RS256", id: "r").text()
                return try change(text.split(separator: ".").map(String.init))
            }
        }
    }

    static let malformed: [Wrong] = [
        Wrong("nothing", .malformed) { "" },
        Wrong("a word", .malformed) { "token" },
        Wrong("three empty parts", .malformed) { ".." },
        Wrong("without a signature and its dot", .malformed) { "\($0[0]).\($0[1])" },
        Wrong("with a fourth part", .malformed) { "\($0[0]).\($0[1]).\($0[2]).AA" },
        Wrong("with an empty fourth part", .malformed) { "\($0[0]).\($0[1]).\($0[2])." },
        Wrong("without a header", .malformed) { ".\($0[1]).\($0[2])" },
        Wrong("without a payload", .malformed) { "\($0[0])..\($0[2])" },
        Wrong("with padding", .malformed) { "\($0[0])==.\($0[1]).\($0[2])" },
        Wrong("with a line break", .malformed) { "\($0[0]).\($0[1])\n.\($0[2])" },
        Wrong("with base64 letters of the other alphabet", .malformed) { "\($0[0]).\($0[1])+/.\($0[2])" },
        Wrong("with bits after the signature", .malformed) { "\($0[0]).\($0[1]).\($0[2].dropLast())_" },
        Wrong("a list as header", .malformed) { "\(Base64URL.encode("[]".utf8)).\($0[1]).\($0[2])" },
        Wrong("a list as payload", .malformed) { "\($0[0]).\(Base64URL.encode("[]".utf8)).\($0[2])" },
        Wrong("with a repeated claim", .malformed) {
            "\($0[0]).\(Base64URL.encode(#"{"iss": "a", "iss": "b"}"#.utf8)).\($0[2])"
        },
        Wrong("with a repeated algorithm", .malformed) {
            "\(Base64URL.encode(#"{"alg": "RS256", "alg": "none"}"#.utf8)).\($0[1]).\($0[2])"
        },
        Wrong("a key id that is a number", .malformed, header: ["kid": 1]),
        Wrong("a key id of 513 bytes", .malformed, header: ["kid": .string(String(repeating: "k", count: 513))]),
        Wrong("12 KB and a byte", .tooLarge) { String(repeating: "a", count: SignedToken.maxBytes + 1) },
        Wrong("a claim of 12 KB", .tooLarge, ["more": .string(String(repeating: "m", count: 12_288))]),
    ]

    static let signed: [Wrong] = [
        Wrong("an access token", .wrongType, header: ["typ": "at+jwt"]),
        Wrong("a logout token", .wrongType, header: ["typ": "logout+jwt"]),
        Wrong("a type that is a number", .wrongType, header: ["typ": 1]),
        Wrong("a critical extension", .critical, header: ["crit": ["b64"], "b64": true]),
        Wrong("an empty list of critical extensions", .critical, header: ["crit": []]),
        Wrong("a payload that is not encoded", .critical, header: ["b64": false]),
        Wrong("the algorithm none", .wrongAlgorithm) {
            "\(Base64URL.encode(#"{"alg": "none"}"#.utf8)).\($0[1])."
        },
        Wrong("the algorithm None with a signature", .wrongAlgorithm, header: ["alg": "None"]),
        Wrong("no algorithm", .wrongAlgorithm, header: ["alg": .null]),
        Wrong("an algorithm that is a number", .wrongAlgorithm, header: ["alg": 256]),
        Wrong("the algorithm RS512", .wrongAlgorithm, header: ["alg": "RS512"]),
        Wrong("the algorithm rs256", .wrongAlgorithm, header: ["alg": "rs256"]),
        Wrong("PS256 with a key for RS256", .wrongAlgorithm, header: ["alg": "PS256"]),
        Wrong("ES256 with the id of an RSA key", .wrongAlgorithm, header: ["alg": "ES256"]),
        Wrong("HS256 with the public key as secret", .wrongAlgorithm) {
            var draft = DraftToken(try .named("rsa"), algorithm: "HS256", id: "r")
            draft.secret = JSON.object(draft.key.publicKey).bytes
            return try draft.text()
        },
        Wrong("HS256 without a key id", .wrongAlgorithm) {
            var draft = DraftToken(try .named("rsa"), algorithm: "HS256")
            draft.secret = secret
            return try draft.text()
        },
        Wrong("the id of no key", .unknownKey, header: ["kid": "x"]),
        Wrong("an empty key id", .unknownKey, header: ["kid": ""]),
        Wrong("a key in the header", .unknownKey) {
            var draft = DraftToken(try .named("p256"), algorithm: "ES256", id: "mine")
            draft.header["jwk"] = draft.key.json(id: "mine", algorithm: "ES256")
            return try draft.text()
        },
        Wrong("the address of keys in the header", .unknownKey, header: ["kid": "x", "jku": "https://evil.example"]),
        Wrong("the address of a certificate", .unknownKey, header: ["kid": "x", "x5u": "https://evil.example"]),
        Wrong("a certificate in the header", .unknownKey, header: ["kid": "x", "x5c": ["MIIB"]]),
        Wrong("another key with a known id", .badSignature) {
            try DraftToken(.named("otherRSA"), algorithm: "RS256", id: "r").text()
        },
        Wrong("another curve point with a known id", .badSignature) {
            try DraftToken(.named("otherP256"), algorithm: "ES256", id: "e").text()
        },
        Wrong("another payload", .badSignature) {
            let draft = DraftToken(try .named("rsa"), algorithm: "RS256", id: "r", ["sub": "user-2"])
            return "\(draft.signed).\($0[2])"
        },
        Wrong("another header", .badSignature) { parts in
            let header = Base64URL.encode(#"{"alg": "RS256", "kid": "r"}"#.utf8)
            return "\(header).\(parts[1]).\(parts[2])"
        },
        Wrong("no signature", .badSignature) { "\($0[0]).\($0[1])." },
        Wrong("a signature of another token", .badSignature) { parts in
            let other = try DraftToken(.named("rsa"), algorithm: "RS256", id: "r", ["sub": "user-2"]).text()
            return "\(parts[0]).\(parts[1]).\(other.split(separator: ".")[2])"
        },
    ]

    private static let now = Int64(DraftToken.now)

    static let claimed: [Wrong] = [
        Wrong("no issuer", .unknownIssuer, ["iss": .null]),
        Wrong("another issuer", .unknownIssuer, ["iss": "https://evil.example"]),
        Wrong("the issuer with a slash", .unknownIssuer, ["iss": .string(DraftToken.issuer + "/")]),
        Wrong("the issuer in upper case", .unknownIssuer, ["iss": .string(DraftToken.issuer.uppercased())]),
        Wrong("a list with the issuer", .unknownIssuer, ["iss": [.string(DraftToken.issuer)]]),
        Wrong("no audience", .wrongAudience, ["aud": .null]),
        Wrong("another audience", .wrongAudience, ["aud": "other"]),
        Wrong("the audience in upper case", .wrongAudience, ["aud": "APP"]),
        Wrong("a longer audience", .wrongAudience, ["aud": "app.evil"]),
        Wrong("two audiences in one text", .wrongAudience, ["aud": "app web"]),
        Wrong("an empty list of audiences", .wrongAudience, ["aud": []]),
        Wrong("an object as audience", .wrongAudience, ["aud": ["app": true]]),
        Wrong("issued to another client", .wrongParty, ["azp": "other"]),
        Wrong("issued to a list of clients", .wrongParty, ["azp": ["app"]]),
        Wrong("an unknown audience besides, and no client", .wrongParty, ["aud": ["app", "other"]]),
        Wrong("no end", .expired, ["exp": .null]),
        Wrong("expired a minute ago", .expired, ["exp": .int(now - 60)]),
        Wrong("an end as text", .expired, ["exp": .string("\(now + 600)")]),
        Wrong("an end that is true", .expired, ["exp": true]),
        Wrong("valid for eight days", .tooLong, ["exp": .int(now + 8 * 86_400)]),
        Wrong("valid for ever", .tooLong, ["exp": 1e300]),
        Wrong("valid from later on", .notYetValid, ["nbf": .int(now + 61)]),
        Wrong("a start as text", .notYetValid, ["nbf": "0"]),
        Wrong("no time of issue", .wrongIssueTime, ["iat": .null]),
        Wrong("issued in the future", .wrongIssueTime, ["iat": .int(now + 61)]),
        Wrong("a time of issue as text", .wrongIssueTime, ["iat": "0"]),
        Wrong("a nonce that the app does not know", .wrongNonce, ["nonce": "n"]),
        Wrong("no subject", .wrongSubject, ["sub": .null]),
        Wrong("an empty subject", .wrongSubject, ["sub": ""]),
        Wrong("a subject of 256 bytes", .wrongSubject, ["sub": .string(String(repeating: "s", count: 256))]),
        Wrong("a subject that is a number", .wrongSubject, ["sub": 1]),
        Wrong("a subject with a control character", .wrongSubject, ["sub": "a\u{0}b"]),
    ]

    @Test(arguments: malformed + signed + claimed)
    func `I2 a wrong token is refused with its own reason`(wrong: Wrong) async throws {
        #expect(try await reason(wrong.text()) == wrong.reason.rawValue)
    }

    @Test func `I2 there are over 60 wrong tokens, and every reason occurs`() {
        let all = Self.malformed + Self.signed + Self.claimed
        #expect(all.count >= 60)
        // The two reasons that need more than a token have their own tests.
        #expect(Set(all.map(\.reason)) == Set(TokenRefusal.allCases).subtracting([.stale, .used]))
    }

    // MARK: - Nonces, ages and secrets

    @Test func `I2 a nonce must be the app's, or its SHA-256 where the provider hashes it`() async throws {
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        let cases: [(rule: IdentityProvider.NonceRule, claim: JSON, given: String?, isGood: Bool)] = [
            (.plain, "abc", "abc", true), (.plain, "abc", "abd", false), (.plain, "abc", nil, false),
            (.plain, .null, "abc", false), (.plain, .null, nil, true), (.plain, .string(hash), "abc", false),
            (.sha256, .string(hash), "abc", true), (.sha256, "abc", "abc", false),
            (.sha256, .string(hash), .some(hash), false), (.sha256, .string(hash.uppercased()), "abc", false),
            (.sha256, .string(hash), nil, false), (.sha256, .null, "abc", false), (.sha256, .null, nil, true),
            (.plainIfGiven, "abc", nil, true), (.plainIfGiven, "abc", "abc", true), (.plainIfGiven, "abc", "x", false),
            (.plainIfGiven, .null, "abc", false), (.plain, 1, "1", false),
        ]
        for (rule, claim, given, isGood) in cases {
            let text = try DraftToken(.named("p256"), algorithm: "ES256", id: "e", ["nonce": claim]).text()
            let found = try await reason(text, nonce: given, Self.provider(nonce: rule))
            #expect(found == (isGood ? nil : "token_nonce"), "\(rule) \(claim) \(given ?? "-")")
        }
    }

    @Test func `I7 a fresh token is one of a sign-in of the last minutes`() async throws {
        for (claims, isFresh) in [
            (["iat": .int(Self.now - 300)], true), (["iat": .int(Self.now - 361)], false),
            (["iat": .int(Self.now), "auth_time": .int(Self.now - 361)], false),
            (["iat": .int(Self.now - 400), "auth_time": .int(Self.now - 10)], true), (["auth_time": "now"], false),
        ] as [(JSONObject, Bool)] {
            let text = try DraftToken(.named("p256"), algorithm: "ES256", id: "e", claims).text()
            #expect(try await reason(text, maxAge: 300) == (isFresh ? nil : "token_stale"), "\(claims)")
            #expect(try await reason(text) == nil)
        }
    }

    @Test func `I1 a shared secret checks HS256 tokens with any key id, and nothing else`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "secret-\(UUID().uuidString)")
        try Data(Self.secret + [0x0A]).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let provider = IdentityProvider(
            name: "test", issuer: DraftToken.issuer, audiences: ["app"], keys: .secret(file: file))
        let ring = try KeyRing(
            provider, fetch: { _ in [] }, elapsed: { .zero }, spawn: { work in Task { await work() } },
            logger: SharedDatabase.quiet)
        let providers = try IdentityProviders([ring])
        func reason(_ draft: DraftToken) async throws -> String? {
            do {
                _ = try await providers.proof(of: draft.text(), nonce: nil, at: DraftToken.now)
                return nil
            } catch let refusal as AuthRefusal { return refusal.reason }
        }
        var draft = DraftToken(try .named("rsa"), algorithm: "HS256", id: "any")
        draft.secret = Self.secret
        #expect(try await reason(draft) == nil)
        draft.secret = Self.secret + [1]
        #expect(try await reason(draft) == "token_signature")
        #expect(try await reason(DraftToken(.named("rsa"), algorithm: "RS256", id: "any")) == "token_algorithm")
    }

    @Test func `I1 among keys with the same id, the token's algorithm finds the right one`() async throws {
        let keys = [
            try TokenKey.named("p256").json(id: "a", algorithm: "ES256"),
            try TokenKey.named("rsa").json(id: "a", algorithm: "RS256"),
        ]
        #expect(try await reason(DraftToken(.named("rsa"), algorithm: "RS256", id: "a").text(), keys: keys) == nil)
        #expect(try await reason(DraftToken(.named("p256"), algorithm: "ES256", id: "a").text(), keys: keys) == nil)
        let twice = [
            try TokenKey.named("rsa").json(id: "a", algorithm: "RS256"),
            try TokenKey.named("otherRSA").json(id: "b", algorithm: "RS256"),
        ]
        let unnamed = try DraftToken(.named("rsa"), algorithm: "RS256").text()
        #expect(try await reason(unnamed, keys: twice) == "token_key", "two keys, and the token names neither")
    }

    // MARK: - No token of others

    /// A token whose properties are drawn at random. The server must take it if and only if all of them fit.
    @Test(arguments: 0..<4)
    func `I2 no valid token of another audience, issuer, algorithm, key or time is taken`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let keys: [(name: String, algorithm: String, id: String)] = [
            ("rsa", "RS256", "r"), ("otherRSA", "PS256", "p"), ("p256", "ES256", "e"), ("ed25519", "EdDSA", "d"),
        ]
        func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &random)] }
        /// Mostly right, so that often only one property is wrong.
        func isRight() -> Bool { Int.random(in: 0..<6, using: &random) > 0 }
        var (taken, refused) = (0, 0)
        for _ in 0..<250 {
            let key = pick(keys)
            let signer = isRight() ? key : pick(keys)
            let issuer = isRight() ? DraftToken.issuer : pick(["https://other.example", DraftToken.issuer + "/"])
            let audience = isRight() ? pick(["app", "web"]) : pick(["other", "ap", ""])
            let (start, end) =
                isRight()
                ? (-500, 500) : (Int.random(in: -900...900, using: &random), Int.random(in: -900...900, using: &random))
            let allowed: Set<IdentityAlgorithm> =
                isRight() ? [.rs256, .ps256, .es256, .edDSA] : [pick([.rs256, .es256])]
            var draft = DraftToken(
                try .named(signer.name), algorithm: signer.algorithm, id: key.id,
                [
                    "iss": .string(issuer), "aud": .string(audience), "iat": .int(Self.now + Int64(start)),
                    "exp": .int(Self.now + Int64(end)),
                ])
            draft.header["alg"] = .string(isRight() ? key.algorithm : pick(keys).algorithm)
            let isGood =
                signer.name == key.name && issuer == DraftToken.issuer && ["app", "web"].contains(audience)
                && draft.header["alg"]?.string == key.algorithm && start <= 60 && end > -60
                && allowed.contains { $0.rawValue == key.algorithm }
            var provider = Self.provider()
            provider.algorithms = allowed
            let found = try await reason(draft.text(), provider)
            #expect((found == nil) == isGood, "\(draft.header) \(draft.claims) by \(signer.name): \(found ?? "taken")")
            if found == nil { taken += 1 } else { refused += 1 }
        }
        #expect(taken > 40 && refused > 40, "\(taken) taken, \(refused) refused")
    }
}
