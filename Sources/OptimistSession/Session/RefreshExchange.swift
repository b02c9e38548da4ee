// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes

/// How a session exchanges a refresh token for new tokens.
public struct RefreshExchange: Sendable {
    /// New tokens from a server's answer.
    public struct Grant: Sendable {
        /// The token that signs requests.
        public var accessToken: Secret
        /// The new refresh token. Nil: the current one stays in use.
        public var refreshToken: Secret?
        /// The access token's lifetime. Nil: unknown, so the session renews the token when the server refuses it.
        public var lifetime: Duration?

        /// Makes a grant. Without the optional values, the refresh token stays in use and the lifetime is unknown.
        public init(accessToken: Secret, refreshToken: Secret? = nil, lifetime: Duration? = nil) {
            self.accessToken = accessToken
            self.refreshToken = refreshToken
            self.lifetime = lifetime
        }

        /// The credentials that replace `former`.
        func successor(of former: Credentials, time: ServerTime) -> Credentials {
            var next = former
            next.accessToken = accessToken
            if let refreshToken, !refreshToken.exposed.isEmpty { next.refreshToken = refreshToken }
            next.expiresAt = lifetime.map { time.now + $0 / .seconds(1) }
            next.serverClockAhead = time.ahead
            next.lifetime = lifetime
            return next
        }
    }

    /// Makes the request, which is sent once and without an access token. If this throws, the session stays as it is
    /// and retries later.
    public var request: @Sendable (Credentials) throws -> SessionRequest
    /// Reads the body of a successful answer. Nil: the answer grants no tokens, for example because it is from a
    /// captive portal.
    public var grant: @Sendable ([UInt8]) -> Grant?

    /// Makes a custom exchange. Both functions may be called on any thread.
    public init(
        request: @escaping @Sendable (Credentials) throws -> SessionRequest,
        grant: @escaping @Sendable ([UInt8]) -> Grant?
    ) {
        self.request = request
        self.grant = grant
    }

    /// The OAuth 2 exchange: a form with the refresh token, and an answer with `access_token`, `refresh_token` and
    /// `expires_in`.
    ///
    /// > Source: RFC 6749, sections 5.1 and 6.
    ///
    /// - Parameter path: The path of the server's token endpoint.
    public static func oauth(at path: String) -> RefreshExchange {
        RefreshExchange { credentials in
            let form = Form([("grant_type", "refresh_token"), ("refresh_token", credentials.refreshToken.exposed)])
            return SessionRequest(
                path, method: .post,
                headerFields: [.contentType: "application/x-www-form-urlencoded", .accept: "application/json"],
                body: form.bytes)
        } grant: { body in
            TokenGrant(body)?.grant
        }
    }
}
