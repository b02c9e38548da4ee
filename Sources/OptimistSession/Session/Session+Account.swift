// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore

/// Account management: sessions, password and deletion.
///
/// Each method throws an `OptimistError` with one of its listed codes. For any other failure reported by the server,
/// the code is `accountRequestRefused` or `accountRequestFailed`. Each method also throws the errors of
/// ``Session/send(_:)``. Only ``Session/accountSessions()`` is retried automatically.
extension Session {
    /// Returns the devices signed in to the account, most recently used first.
    ///
    /// - Throws: `OptimistError` with code `accountRequestRefused` or `accountRequestFailed`; otherwise as
    ///   ``send(_:)``.
    public func accountSessions() async throws -> [AccountSession] {
        let body = try await asked(.get, configuration.endpoints.sessions)
        guard let sessions = AccountSessionList.read(body) else { throw OptimistError.accountAnswerUnreadable }
        return sessions
    }

    /// Ends another device's session, with the reason `revoked`. For this device, use ``signOut()``.
    ///
    /// - Parameter id: From ``accountSessions()``. A session that has already ended is not an error.
    /// - Throws: `unknownSession`.
    public func endSession(_ id: String) async throws {
        let name = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        try await asked(.delete, "\(configuration.endpoints.sessions)/\(name)")
    }

    /// Changes the password. This device stays signed in; the server signs out all others with the reason
    /// `password_changed`.
    ///
    /// - Throws: `wrongPassword`, `weakPassword`, `commonPassword`, `passwordIsAddress`, `invalidPassword`.
    public func changePassword(from old: String, to new: String) async throws {
        try await asked(.post, configuration.endpoints.password, ["password": old, "newPassword": new])
    }

    /// Permanently deletes the account and all its data on the server. Every device, including this one, is signed out
    /// with the reason `account_deleted`.
    ///
    /// The app's own database is not changed: the app decides what to do with its data.
    ///
    /// - Throws: `wrongPassword`.
    public func deleteAccount(password: String) async throws {
        try await deleteAccount(confirmedBy: .password(password))
    }

    func deleteAccount(confirmedBy confirmation: AccountConfirmation) async throws {
        let stamp = core.stamp
        do {
            try await asked(.post, configuration.endpoints.deleteAccount, confirmation.members)
        } catch let error as OptimistError where error.signOutReason == .accountDeleted {
            // The event stream was faster than the answer.
            return
        }
        run(core.handle(.ended(stamp, .accountDeleted)))
    }

    /// Asks the server to send the user a token for ``resetPassword(token:to:)``.
    ///
    /// Works while signed out. It also succeeds for unknown addresses, so that it does not reveal which accounts exist.
    ///
    /// - Throws: `OptimistError` with code `resetUnavailable` if the server does not send tokens; otherwise as
    ///   ``signIn(email:password:)``.
    public func requestPasswordReset(email: String) async throws {
        try await openly(configuration.endpoints.forgotPassword, ["email": email])
    }

    /// Sets a new password with a reset token. The server signs out all the account's devices with the reason
    /// `password_changed`; call ``signIn(email:password:)`` next.
    ///
    /// Works while signed out. A refused password does not use up the token.
    ///
    /// - Throws: `OptimistError` with code `invalidReset`, `weakPassword`, `commonPassword`, `passwordIsAddress` or
    ///   `invalidPassword`; otherwise as ``signIn(email:password:)``.
    public func resetPassword(token: String, to new: String) async throws {
        try await openly(configuration.endpoints.resetPassword, ["token": token, "newPassword": new])
    }

    /// Sends a request with the session's credential.
    @discardableResult
    func asked(
        _ method: HTTPRequest.Method, _ path: String, _ body: (any Encodable & Sendable)? = nil
    ) async throws -> [UInt8] {
        var request = SessionRequest(path, method: method, attempts: method == .get ? 3 : 1)
        if let body {
            request.headerFields[.contentType] = MediaType.json.rawValue
            request.body = Array(try JSONEncoder().encode(body))
        }
        let answer = try await send(request)
        try check(answer.head, answer.body)
        return answer.body
    }

    /// Sends a request without a credential.
    private func openly(_ path: String, _ body: [String: String]) async throws {
        let answer = try await ask(path, .json, Array(try JSONEncoder().encode(body)))
        try check(answer.head, answer.body)
    }

    private func check(_ head: HTTPResponse, _ body: [UInt8]) throws {
        switch head.status.code {
        case 200...299: return
        case 404 where Refusal(body)?.reason == nil && head.headerFields[.contentType] == "application/problem+json":
            throw OptimistError(.unknownSession, "The account does not have this session.")
        case 400, 401, 403, 404, 405, 409, 422:
            throw OptimistError.refusal(
                head, body, else: .accountRequestRefused, "The server refused this account request.")
        default:
            throw OptimistError(
                .accountRequestFailed, Self.sentence(head),
                remedy: .retry(after: head.retryAfter(now: serverTime.now) ?? .seconds(5)))
        }
    }

    /// The message for an answer that is neither a success nor a refusal.
    static func sentence(_ head: HTTPResponse) -> String {
        head.status == .tooManyRequests
            ? "There were too many attempts. Try again later."
            : "The server could not do this right now (status \(head.status.code))."
    }
}

extension OptimistError {
    static let accountAnswerUnreadable = OptimistError(
        .accountRequestFailed, "The answer is not from the server, or uses another protocol version.",
        remedy: .retry(after: .seconds(30)))
}
