// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore

/// The account itself: its sessions, its password, its end.
///
/// Each method throws `OptimistError` with one of the codes that it names, with `accountRequestRefused` or
/// `accountRequestFailed` where the server answers otherwise, and as ``Session/send(_:)``. None is sent twice by itself.
extension Session {
    /// Returns the devices on which the account is signed in, the one that was used last first.
    ///
    /// - Throws: `OptimistError` with code `accountRequestRefused` or `accountRequestFailed`; else as ``send(_:)``.
    public func accountSessions() async throws -> [AccountSession] {
        let body = try await asked(.get, configuration.endpoints.sessions)
        guard let sessions = AccountSessionList.read(body) else { throw OptimistError.accountAnswerUnreadable }
        return sessions
    }

    /// Ends the session of another device, which hears the reason `revoked`. For this device's own there is ``signOut()``.
    ///
    /// - Parameter id: From ``accountSessions()``. One that has ended already is no error.
    /// - Throws: `unknownSession`.
    public func endSession(_ id: String) async throws {
        let name = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        try await asked(.delete, "\(configuration.endpoints.sessions)/\(name)")
    }

    /// Changes the password. This device stays signed in; all others are signed out with the reason `password_changed`.
    ///
    /// - Throws: `wrongPassword`, `weakPassword`, `commonPassword`, `passwordIsAddress`, `invalidPassword`.
    public func changePassword(from old: String, to new: String) async throws {
        try await asked(.post, configuration.endpoints.password, ["password": old, "newPassword": new])
    }

    /// Deletes the account and all that the server has of it, for good. Every device is signed out with the reason
    /// `account_deleted`, this one too.
    ///
    /// What is in the app's own database stays where it is: it is for the app to say what becomes of it.
    ///
    /// - Throws: `wrongPassword`.
    public func deleteAccount(password: String) async throws {
        let stamp = core.stamp
        do {
            try await asked(.post, configuration.endpoints.deleteAccount, ["password": password])
        } catch let error as OptimistError where error.signOutReason == .accountDeleted {
            // The event stream was faster than the answer.
            return
        }
        run(core.handle(.ended(stamp, .accountDeleted)))
    }

    /// Asks the server to send whoever has forgotten the password a token for ``resetPassword(token:to:)``.
    ///
    /// Works while nobody is signed in. It succeeds whether or not there is such an account: nobody learns that from it.
    ///
    /// - Throws: `OptimistError` with code `resetUnavailable` when the server sends none; else as
    ///   ``signIn(email:password:)``.
    public func requestPasswordReset(email: String) async throws {
        try await openly(configuration.endpoints.forgotPassword, ["email": email])
    }

    /// Gives the account of a reset token another password. All its devices are signed out with the reason
    /// `password_changed`; ``signIn(email:password:)`` comes next.
    ///
    /// Works while nobody is signed in. A password that is refused does not use up the token.
    ///
    /// - Throws: `OptimistError` with code `invalidReset`, `weakPassword`, `commonPassword`, `passwordIsAddress` or
    ///   `invalidPassword`; else as ``signIn(email:password:)``.
    public func resetPassword(token: String, to new: String) async throws {
        try await openly(configuration.endpoints.resetPassword, ["token": token, "newPassword": new])
    }

    /// Asks with the session's credential.
    @discardableResult
    private func asked(
        _ method: HTTPRequest.Method, _ path: String, _ body: [String: String]? = nil
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

    /// Asks without any.
    private func openly(_ path: String, _ body: [String: String]) async throws {
        let answer = try await ask(path, .json, Array(try JSONEncoder().encode(body)))
        try check(answer.head, answer.body)
    }

    private func check(_ head: HTTPResponse, _ body: [UInt8]) throws {
        switch head.status.code {
        case 200...299: return
        case 404 where Refusal(body)?.reason == nil && head.headerFields[.contentType] == "application/problem+json":
            throw OptimistError(.unknownSession, "The account has no such session.")
        case 400, 401, 403, 404, 405, 409, 422:
            throw OptimistError.refusal(
                head, body, else: .accountRequestRefused, "The server did not do what was asked of the account.")
        default:
            throw OptimistError(
                .accountRequestFailed, Self.sentence(head),
                remedy: .retry(after: head.retryAfter(now: serverTime.now) ?? .seconds(5)))
        }
    }

    /// Why an answer about accounts is no success and no refusal.
    static func sentence(_ head: HTTPResponse) -> String {
        head.status == .tooManyRequests
            ? "There were too many attempts. Try again later."
            : "The server could not do this just now (status \(head.status.code))."
    }
}

extension OptimistError {
    fileprivate static let accountAnswerUnreadable = OptimistError(
        .accountRequestFailed, "What answered is not the server, or speaks another version.",
        remedy: .retry(after: .seconds(30)))
}
