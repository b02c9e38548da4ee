// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Why a sign-in, a sign-up or a refresh was refused.
///
/// > Source: RFC 6749 §5.2. The `reason` is an extension.
package struct AuthRefusal: Error, Hashable, Sendable {
    var status: Int
    var error: String
    var description: String
    /// A code for the device: why its session has ended, or which input is wrong.
    var reason: String?
    var retryAfterSeconds: Int?

    static func invalidRequest(_ description: String, reason: String? = nil) -> Self {
        .init(status: 400, error: "invalid_request", description: description, reason: reason)
    }

    static func invalidGrant(_ description: String, _ end: SessionEnd? = nil) -> Self {
        .init(status: 400, error: "invalid_grant", description: description, reason: end?.rawValue)
    }

    static let wrongPassword = invalidGrant("The address or the password is wrong.")

    /// The user is signed in and mistyped the password for confirmation.
    static let wrongOwnPassword = Self(
        status: 400, error: "invalid_grant", description: "The password is wrong.", reason: "wrong_password")

    /// The password is right.
    static let accountDisabled = Self(
        status: 403, error: "access_denied", description: "This account is disabled. Ask the operator of the app.",
        reason: "account_disabled")

    static let signUpClosed = Self(
        status: 403, error: "access_denied", description: "This server does not accept new accounts.",
        reason: "sign_up_closed")

    static let invitationNeeded = Self(
        status: 403, error: "access_denied", description: "Signing up on this server requires an invitation.",
        reason: "invitation_needed")

    package static let invalidInvitation = Self(
        status: 403, error: "access_denied", description: "This invitation was already used or has expired.",
        reason: "invalid_invitation")

    package static let emailTaken = invalidRequest("This address is already in use.", reason: "email_taken")

    static let invalidReset = invalidRequest(
        "This token was already used or has expired. Request a new one.", reason: "invalid_reset")

    static let noResets = Self(
        status: 403, error: "access_denied",
        description: "This server does not send reset tokens. Ask its operator for one.", reason: "reset_unavailable")

    static func tooMany(_ wait: Duration) -> Self {
        .init(
            status: 429, error: "temporarily_unavailable", description: "Too many attempts. Try again later.",
            retryAfterSeconds: max(1, Int(wait.components.seconds) + 1))
    }

    static let busy = Self(
        status: 503, error: "temporarily_unavailable",
        description: "Too many people are signing in. Try again in a moment.",
        retryAfterSeconds: 2)

    var isForTooMany: Bool { status == 429 }

    var json: JSON {
        var object: JSONObject = ["error": .string(error), "error_description": .string(description)]
        if let reason { object.append("reason", .string(reason)) }
        return .object(object)
    }
}

/// A request was answered with status 401.
///
/// > Source: RFC 6750 §3.
struct Unauthorized: Error, Hashable, Sendable {
    /// Nil if the request did not have a token.
    var description: String?
    var end: SessionEnd?

    var challenge: String {
        guard let description else { return "Bearer realm=\"optimist\"" }
        let reason = end.map { ", reason=\"\($0.rawValue)\"" } ?? ""
        return "Bearer realm=\"optimist\", error=\"invalid_token\", error_description=\"\(description)\"\(reason)"
    }

    var json: JSON {
        var object: JSONObject = [
            "type": "about:blank", "status": 401, "title": "Unauthorized",
            "detail": .string(description ?? "An access token is required."),
        ]
        if description != nil { object.append("error", "invalid_token") }
        if let end { object.append("reason", .string(end.rawValue)) }
        return .object(object)
    }
}
