// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// The body of an answer that grants tokens.
///
/// > Source: RFC 6749, section 5.1.
struct TokenGrant: Decodable {
    private var accessToken: String
    private var refreshToken: String?
    private var expiresIn: Seconds?
    private var accountID: String?
    private var email: String?

    /// In seconds, capped at ten years in case the server sends an absurd value.
    private var lifetime: Double? { expiresIn?.value.map { min(max($0, 0), 10 * 365 * 86_400) } }

    /// A number, which some servers send as a string. Other values count as missing, so that they do not cost the user
    /// a sign-in.
    private struct Seconds: Decodable {
        var value: Double?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let number =
                (try? container.decode(Double.self)) ?? (try? container.decode(String.self)).flatMap(RetryAfter.decimal)
            value = number.flatMap { $0.isFinite ? $0 : nil }
        }
    }

    private enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
        case expiresIn = "expires_in"
        case accountID = "account_id"
        case email
    }

    /// Returns nil for any other body, such as a captive portal's page.
    init?(_ body: [UInt8]) {
        guard let grant = try? JSONDecoder().decode(Self.self, from: Data(body)), !grant.accessToken.isEmpty else {
            return nil
        }
        self = grant
    }

    /// The credentials for a new sign-in. Nil without a refresh token.
    ///
    /// - Parameter email: The account's address if the answer does not have one.
    func credentials(email: String, origin: String, time: ServerTime) -> Credentials? {
        guard let refreshToken, !refreshToken.isEmpty else { return nil }
        let email = self.email ?? email
        let account = Account(id: accountID ?? Self.subject(of: accessToken) ?? email, email: email)
        return Credentials(
            accessToken: Secret(accessToken), refreshToken: Secret(refreshToken),
            expiresAt: lifetime.map { time.now + $0 }, lifetime: lifetime.map { .seconds($0) },
            serverClockAhead: time.ahead, account: account, origin: origin)
    }

    /// The tokens of a refresh. A server without rotation sends no new refresh token.
    var grant: RefreshExchange.Grant {
        RefreshExchange.Grant(
            accessToken: Secret(accessToken), refreshToken: refreshToken.map { Secret($0) },
            lifetime: lifetime.map { .seconds($0) })
    }

    /// Reads the subject of a JWT, only as a name for the account. Verification is the server's job.
    private static func subject(of token: String) -> String? {
        struct Claims: Decodable { var sub: String }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let base64 = String(parts[1]).replacing("-", with: "+").replacing("_", with: "/")
        let padded = base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4)
        return Data(base64Encoded: padded).flatMap { try? JSONDecoder().decode(Claims.self, from: $0) }?.sub
    }
}
