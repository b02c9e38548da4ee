// This source file is part of the Optimist open source project, under the MIT licence.

import Crypto
import Foundation
import JWTKit
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
        guard token.utf8.count < 4096 else { return nil }
        let digest = SHA256.hash(data: Data(token.utf8))
        let known = verified.withLock { $0[digest] }
        let claims: Claims
        if let known {
            claims = known
        } else {
            guard let read = try? await keys.verify(token, as: Claims.self) else { return nil }
            claims = read
            remember(claims, digest, now)
        }
        return Double(claims.exp) > now.timeIntervalSince1970 ? claims : nil
    }

    private func remember(_ claims: Claims, _ digest: SHA256Digest, _ now: Date) {
        verified.withLock { verified in
            if verified.count >= maxVerified {
                verified = verified.filter { Double($0.value.exp) > now.timeIntervalSince1970 }
                if verified.count >= maxVerified { verified = [:] }
            }
            verified[digest] = claims
        }
    }
}
