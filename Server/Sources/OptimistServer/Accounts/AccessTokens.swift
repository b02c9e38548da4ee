// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire
import Synchronization

/// Makes and checks access tokens: JSON Web Tokens signed with HMAC-SHA256 that are valid for minutes.
///
/// Other programs do not read them, so there is exactly one algorithm and one header. Verified tokens are cached by
/// their hash.
///
/// > Source: RFC 7515 §3.1, compact serialization; RFC 7519.
final class AccessTokens: Sendable {
    struct Claims: Codable, Hashable {
        /// The account.
        var sub: String
        /// The session.
        var sid: String
        /// The number of the refresh token that was issued with this access token.
        var gen: Int
        /// In seconds since 1970.
        var iat: Int
        var exp: Int
    }

    let lifetime: Int
    private let key: SecretKey
    private let verified = Mutex<[[UInt8]: Claims]>([:])
    /// Tokens that are refused before they expire. They are forgotten at a restart.
    private let expired = Mutex<[[UInt8]: Claims]>([:])
    private let maxVerified = 50_000

    /// - Parameter lifetime: In seconds.
    init(key: SecretKey, lifetime: Int) {
        self.key = key
        self.lifetime = lifetime
    }

    func make(_ record: SessionRecord, now: Date) throws -> String {
        let issued = Int(now.timeIntervalSince1970)
        let claims = Claims(
            sub: record.account, sid: record.id, gen: record.generation, iat: issued, exp: issued + lifetime)
        let signed = "\(Self.header).\(Base64URL.encode(try JSONEncoder().encode(claims)))"
        return "\(signed).\(Base64URL.encode(HMACSHA256.code(for: signed.utf8, key: key)))"
    }

    private static let header = Base64URL.encode(#"{"alg":"HS256","typ":"JWT"}"#.utf8)

    /// Returns nil if this server did not issue the token or it has expired.
    func claims(of token: String, now: Date) -> Claims? {
        guard let (claims, digest) = genuine(token, now), claims.lives(at: now) else { return nil }
        return expired.withLock { $0[digest] } == nil ? claims : nil
    }

    func claims(ofAnyAge token: String, now: Date) -> Claims? { genuine(token, now)?.claims }

    func expire(_ token: String, now: Date) {
        guard let (claims, digest) = genuine(token, now) else { return }
        expired.withLock { expired in
            expired = expired.filter { $0.value.lives(at: now) }
            expired[digest] = claims
        }
    }

    private func genuine(_ token: String, _ now: Date) -> (claims: Claims, digest: [UInt8])? {
        guard token.utf8.count < 4096 else { return nil }
        let digest = SHA256.hash(token.utf8)
        if let known = verified.withLock({ $0[digest] }) { return (known, digest) }
        guard let claims = signedClaims(of: token) else { return nil }
        remember(claims, digest, now)
        return (claims, digest)
    }

    private func signedClaims(of token: String) -> Claims? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, Self.isOurs(header: parts[0]), let signature = Base64URL.decode(parts[2]),
            HMACSHA256.isValid(signature, for: "\(parts[0]).\(parts[1])".utf8, key: key),
            let claims = Base64URL.decode(parts[1])
        else { return nil }
        return try? JSONDecoder().decode(Claims.self, from: Data(claims))
    }

    /// Whether the header names this server's algorithm and no critical extension.
    ///
    /// > Source: RFC 8725 §3.1, on `alg`; RFC 7515 §4.1.11, on `crit`.
    private static func isOurs(header text: String) -> Bool {
        guard let bytes = Base64URL.decode(text), let header = try? JSON(parsing: bytes) else { return false }
        return header["alg"] == "HS256" && header["crit"] == nil
    }

    private func remember(_ claims: Claims, _ digest: [UInt8], _ now: Date) {
        verified.withLock { verified in
            if verified.count >= maxVerified {
                verified = verified.filter { $0.value.lives(at: now) }
                if verified.count >= maxVerified { verified = [:] }
            }
            verified[digest] = claims
        }
    }
}

extension AccessTokens.Claims {
    fileprivate func lives(at now: Date) -> Bool { Double(exp) > now.timeIntervalSince1970 }
}
