// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes

/// How a session exchanges a refresh token for new tokens.
public struct RefreshExchange: Sendable {
    /// New tokens, as a server's answer gives them.
    public struct Grant: Sendable {
        /// Signs requests.
        public var accessToken: Secret
        /// Nil: the refresh token that was sent stays in use.
        public var refreshToken: Secret?
        /// How long the access token lives. Nil: the server did not say, and the session renews it when it is refused.
        public var lifetime: Duration?

        /// Makes a grant. Each property says its default.
        public init(accessToken: Secret, refreshToken: Secret? = nil, lifetime: Duration? = nil) {
            self.accessToken = accessToken
            self.refreshToken = refreshToken
            self.lifetime = lifetime
        }

        /// The credentials that follow others.
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

    /// Makes the request, which is sent without an access token and once. If it throws, the session stays as it is and
    /// tries again later.
    public var request: @Sendable (Credentials) throws -> SessionRequest
    /// Reads the body of a successful answer. Nil: it gives no tokens, for example because a captive portal has answered.
    public var grant: @Sendable ([UInt8]) -> Grant?

    /// Makes an exchange of the app's own. Both functions may be called on any thread.
    public init(
        request: @escaping @Sendable (Credentials) throws -> SessionRequest,
        grant: @escaping @Sendable ([UInt8]) -> Grant?
    ) {
        self.request = request
        self.grant = grant
    }

    /// The exchange of OAuth 2: a form with the refresh token, and an answer with `access_token`, `refresh_token` and
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
