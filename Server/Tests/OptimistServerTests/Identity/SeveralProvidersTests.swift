// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// A server with two identity providers, whose keys have the same id.
@Suite(.timeLimit(.minutes(20)))
struct SeveralProvidersTests {
    @Test func `I1 I2 a provider's key and audience are good only for its own issuer`() async throws {
        let second = "https://second.example.org"
        let keys = try [
            DraftToken.issuer: [TokenKey.named("rsa").json(id: "k", algorithm: "RS256")],
            second: [TokenKey.named("otherRSA").json(id: "k", algorithm: "RS256")],
        ].mapValues { JSON.object(["keys": .array($0)]).bytes }
        let rings = try [(DraftToken.issuer, "app"), (second, "web")].map { issuer, audience in
            var provider = IdentityProvider(name: audience, issuer: issuer, audiences: [audience])
            provider.keys = .url(try #require(URL(string: "\(issuer)/keys")))
            return try KeyRing(
                provider, fetch: { _ in keys[issuer] ?? [] }, elapsed: { .zero },
                spawn: { work in Task { await work() } }, logger: SharedDatabase.quiet)
        }
        let providers = try IdentityProviders(rings)
        func reason(_ key: String, _ issuer: String, _ audience: String) async throws -> String? {
            let claims: JSONObject = ["iss": .string(issuer), "aud": .string(audience)]
            let text = try DraftToken(.named(key), algorithm: "RS256", id: "k", claims).text()
            do {
                _ = try await providers.proof(of: text, nonce: nil, maxAge: nil, at: DraftToken.now)
                return nil
            } catch let refusal as AuthRefusal {
                return refusal.reason
            }
        }
        #expect(try await reason("rsa", DraftToken.issuer, "app") == nil)
        #expect(try await reason("otherRSA", second, "web") == nil)
        #expect(try await reason("rsa", second, "web") == TokenRefusal.badSignature.rawValue)
        #expect(try await reason("otherRSA", DraftToken.issuer, "app") == TokenRefusal.badSignature.rawValue)
        #expect(try await reason("otherRSA", second, "app") == TokenRefusal.wrongAudience.rawValue)
        #expect(try await reason("rsa", DraftToken.issuer, "web") == TokenRefusal.wrongAudience.rawValue)
    }
}
