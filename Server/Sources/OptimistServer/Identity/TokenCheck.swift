// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import OptimistWire

/// A user of a provider. The pair is unique and never given to another user.
///
/// > Source: OpenID Connect Core 1.0 §5.7.
package struct ProviderIdentity: Hashable, Sendable {
    package var issuer: String
    package var subject: String

    package init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }

    /// Names the identity in a URL, without showing the subject: 128 bits of SHA-256 in hexadecimal digits, which no
    /// client escapes.
    package var id: String { String(SHA256.hash("\(issuer)\n\(subject)".utf8).hexadecimal.prefix(32)) }
}

/// The server's memory of a token that was used.
package struct SpentToken: Hashable, Sendable {
    package var hash: Data
    /// When the server may forget it, in seconds since 1970.
    package var endsAt: Double
}

/// The content of a genuine token.
struct ProvenIdentity: Sendable {
    var identity: ProviderIdentity
    /// Nil if the provider does not vouch for it.
    var verifiedEmail: EmailAddress?
    var unverifiedEmail: EmailAddress?
    var token: SpentToken
}

/// Decides whether the claims of a token with a valid signature are acceptable.
///
/// > Source: OpenID Connect Core 1.0 §3.1.3.7.
struct TokenCheck: Sendable {
    let provider: IdentityProvider
    /// In seconds since 1970.
    let now: Double
    /// As the app gave it.
    let nonce: String?
    /// How long ago the user may have signed in with the provider, in seconds. Nil: any time.
    var maxAge: Double?

    /// For clocks that differ, in seconds.
    static let leeway = 60.0
    /// In seconds. The server remembers used tokens until they expire.
    static let maxLifetime = 7 * 86_400.0

    func proof(of token: SignedToken) throws(TokenRefusal) -> ProvenIdentity {
        let claims = token.payload
        guard claims["iss"]?.string == provider.issuer else { throw .unknownIssuer }
        try checkAudience(claims)
        let end = try checkTimes(claims)
        try checkNonce(claims["nonce"])
        guard let subject = claims["sub"]?.string, (1...255).contains(subject.utf8.count), OutsideText.isClean(subject)
        else { throw .wrongSubject }
        let email = claims["email"]?.string.flatMap { try? EmailAddress(entered: $0) }
        let isVerified = claims["email_verified"] == true || claims["email_verified"] == "true"
        return ProvenIdentity(
            identity: ProviderIdentity(issuer: provider.issuer, subject: subject),
            verifiedEmail: isVerified ? email : nil, unverifiedEmail: isVerified ? nil : email,
            token: SpentToken(hash: hash(of: token), endsAt: end + 2 * Self.leeway))
    }

    /// If the token is also for other audiences, it must have been issued to a client of this server.
    private func checkAudience(_ claims: JSON) throws(TokenRefusal) {
        let audiences: [String]
        switch claims["aud"] {
        case .string(let audience)?: audiences = [audience]
        case .array(let list)?: audiences = list.compactMap(\.string)
        default: throw .wrongAudience
        }
        guard !provider.audiences.isDisjoint(with: audiences) else { throw .wrongAudience }
        if let party = claims["azp"] {
            guard let party = party.string, provider.audiences.contains(party) else { throw .wrongParty }
        } else if !provider.audiences.isSuperset(of: audiences) {
            throw .wrongParty
        }
    }

    /// Returns the time when the token expires.
    private func checkTimes(_ claims: JSON) throws(TokenRefusal) -> Double {
        guard let end = Self.time(claims["exp"]), now < end + Self.leeway else { throw .expired }
        guard end <= now + Self.maxLifetime + Self.leeway else { throw .tooLong }
        if let start = claims["nbf"] {
            guard let start = Self.time(start), start <= now + Self.leeway else { throw .notYetValid }
        }
        guard let issued = Self.time(claims["iat"]), issued <= now + Self.leeway else { throw .wrongIssueTime }
        if let maxAge {
            let signedIn = claims["auth_time"].map { Self.time($0) ?? -.infinity } ?? issued
            guard signedIn >= now - maxAge - Self.leeway else { throw .stale }
        }
        return end
    }

    private static func time(_ claim: JSON?) -> Double? {
        switch claim {
        case .int?, .double?: claim?.double.flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    private func checkNonce(_ claim: JSON?) throws(TokenRefusal) {
        guard let nonce else {
            if claim == nil || provider.nonce == .plainIfGiven { return }
            throw .wrongNonce
        }
        let expected = provider.nonce == .sha256 ? SHA256.hash(nonce.utf8).hexadecimal : nonce
        guard claim?.string == expected else { throw .wrongNonce }
    }

    /// Identifies the token by its `jti`, else by its signed part: some signatures can be changed and stay valid.
    private func hash(of token: SignedToken) -> Data {
        let name = token.payload["jti"]?.string.flatMap { $0.isEmpty ? nil : "jti\n\($0)" } ?? "text\n\(token.signed)"
        return Data(SHA256.hash("\(provider.issuer)\n\(name)".utf8))
    }
}
