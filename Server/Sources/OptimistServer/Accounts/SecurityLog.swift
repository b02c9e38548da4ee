// This source file is part of the Optimist open source project, under the MIT licence.

import Logging

/// Logs security events for the operator: one line each, with ids and the address, never with a password, token or
/// email address.
struct SecurityLog: Sendable {
    enum Event: String, Sendable, CaseIterable {
        case signInRefused = "sign_in_refused"
        case signUpRefused = "sign_up_refused"
        case throttled
        case tokenReused = "refresh_token_reused"
        case sessionEnded = "session_ended"
        case passwordRefused = "password_refused"
        case passwordChanged = "password_changed"
        case resetRefused = "reset_refused"
        case identityRefused = "identity_refused"
        case identityLinked = "identity_linked"
        case identityRemoved = "identity_removed"
        case accountDeleted = "account_deleted"
        case accountCreated = "account_created"
        case accountDisabled = "account_disabled"
        case accountEnabled = "account_enabled"
        case serviceKeyMade = "service_key_made"
        case serviceKeyRevoked = "service_key_revoked"
        case serviceKeyRefused = "service_key_refused"
    }

    let logger: Logger
    var metrics: ServerMetrics?

    func note(
        _ event: Event, _ caller: Caller?, account: String? = nil, session: String? = nil, end: SessionEnd? = nil,
        serviceKey: String? = nil
    ) {
        metrics?.noted(event)
        var metadata: Logger.Metadata = ["security.event": "\(event.rawValue)"]
        metadata["client.address"] = caller.map { "\($0.address)" }
        metadata["request.id"] = caller?.requestID.map { "\($0)" }
        metadata["account.id"] = account.map { "\($0)" }
        metadata["session.id"] = session.map { "\($0)" }
        metadata["session.end"] = end.map { "\($0.rawValue)" }
        metadata["service_key.id"] = serviceKey.map { "\($0)" }
        // Someone may have copied the replaced token.
        logger.log(level: event == .tokenReused ? .warning : .notice, "Security", metadata: metadata)
    }
}
