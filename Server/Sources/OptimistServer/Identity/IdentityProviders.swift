// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistWire

/// The providers whose users may sign in.
struct IdentityProviders: Sendable {
    private let rings: [String: KeyRing]

    static let none = IdentityProviders(rings: [:])

    private init(rings: [String: KeyRing]) { self.rings = rings }

    /// - Throws: `OptimistError` with code `badIdentityProvider`.
    init(_ rings: [KeyRing]) throws {
        self.rings = try Dictionary(rings.map { ($0.provider.issuer, $0) }) { one, _ in
            throw OptimistError(
                .badIdentityProvider,
                "Two identity providers have the issuer \(one.provider.issuer). Name the audiences of both in one.")
        }
    }

    var isEmpty: Bool { rings.isEmpty }

    subscript(issuer: String) -> IdentityProvider? { rings[issuer]?.provider }

    /// Sorted, for the server's metadata.
    var issuers: [String] { rings.keys.sorted() }

    /// - Parameters:
    ///   - maxAge: How long ago the user may have signed in with the provider, in seconds. Nil: any time.
    ///   - now: Seconds since 1970.
    /// - Throws: ``AuthRefusal``.
    func proof(of text: String, nonce: String?, maxAge: Double? = nil, at now: Double) async throws -> ProvenIdentity {
        do {
            let token = try SignedToken(text)
            guard let ring = token.payload["iss"]?.string.flatMap({ rings[$0] }) else {
                throw TokenRefusal.unknownIssuer
            }
            guard try await ring.key(for: token).isValid(token.signature, for: token.signed.utf8) else {
                throw TokenRefusal.badSignature
            }
            return try TokenCheck(provider: ring.provider, now: now, nonce: nonce, maxAge: maxAge).proof(of: token)
        } catch let refusal as TokenRefusal {
            throw AuthRefusal(refusal)
        } catch is KeysUnavailable {
            throw AuthRefusal.keysUnavailable
        }
    }
}
