// This source file is part of the Optimist open source project, under the MIT licence.

import Crypto
import Foundation
import JWTKit
import OptimistWire
import Synchronization

/// Makes and checks access tokens: JSON Web Tokens that live for minutes.
///
/// A token whose signature has been checked is remembered by its hash for as long as it lives.
final class AccessTokens: Sendable {
    /// What a token says.
    struct Claims: JWTPayload, Hashable {
        /// The account.
        var sub: String
        /// The session.
        var sid: String
        /// The number of the refresh token that came with it.
        var gen: Int
        /// In seconds since 1970.
        var iat: Int
        var exp: Int

        /// The time is checked by ``AccessTokens/claims(of:now:)``, against the clock that the server was given.
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    let lifetime: Int
    private let keys = JWTKeyCollection()
    private let verified = Mutex<[SHA256Digest: Claims]>([:])
    /// What is refused before its time has passed, and when it will have. Forgotten at a restart.
    private let expired = Mutex<[SHA256Digest: Claims]>([:])
    private let maxVerified = 50_000

    /// - Parameter lifetime: In seconds.
    init(key: SymmetricKey, lifetime: Int) async {
        self.lifetime = lifetime
        await keys.add(hmac: HMACKey(from: key.withUnsafeBytes { Data($0) }), digestAlgorithm: .sha256)
    }

    func make(_ record: SessionRecord, now: Date) async throws -> String {
        let issued = Int(now.timeIntervalSince1970)
        return try await keys.sign(
            Claims(
                sub: record.account, sid: record.id, gen: record.generation, iat: issued, exp: issued + lifetime))
    }

    /// Returns what a token says, or nil if it is not ours or has expired.
    func claims(of token: String, now: Date) async -> Claims? {
        guard let (claims, digest) = await genuine(token, now), claims.lives(at: now) else { return nil }
        return expired.withLock { $0[digest] } == nil ? claims : nil
    }

    /// Returns what a token says that is ours, whether or not it has expired.
    func claims(ofAnyAge token: String, now: Date) async -> Claims? { await genuine(token, now)?.claims }

    /// Takes a token for expired from now on.
    func expire(_ token: String, now: Date) async {
        guard let (claims, digest) = await genuine(token, now) else { return }
        expired.withLock { expired in
            expired = expired.filter { $0.value.lives(at: now) }
            expired[digest] = claims
        }
    }

    private func genuine(_ token: String, _ now: Date) async -> (claims: Claims, digest: SHA256Digest)? {
        guard token.utf8.count < 4096 else { return nil }
        let digest = SHA256.hash(data: Data(token.utf8))
        if let known = verified.withLock({ $0[digest] }) { return (known, digest) }
        guard Self.hasOurHeader(token), let claims = try? await keys.verify(token, as: Claims.self) else { return nil }
        remember(claims, digest, now)
        return (claims, digest)
    }

    /// Whether the header of a token asks for what this server does: its one algorithm, and no extension that a reader has
    /// to understand.
    ///
    /// > Source: RFC 8725 §3.1, on `alg`; RFC 7515 §4.1.11, on `crit`.
    private static func hasOurHeader(_ token: String) -> Bool {
        guard let bytes = Base64URL.decode(String(token.prefix { $0 != "." })), let header = try? JSON(parsing: bytes)
        else { return false }
        return header["alg"] == "HS256" && header["crit"] == nil
    }

    private func remember(_ claims: Claims, _ digest: SHA256Digest, _ now: Date) {
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
    /// Whether the token's time has not passed.
    fileprivate func lives(at now: Date) -> Bool { Double(exp) > now.timeIntervalSince1970 }
}
