// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire

/// A simulated server's sessions. It accepts every password.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct SessionBook: Sendable {
    private struct Entry {
        var device: String
        var person: String
        var accessToken: String
        var endReason: String?
    }

    /// By refresh token, which never changes.
    private var sessions: [String: Entry] = [:]
    private var lastNumber = 0

    /// The person who signed in. Nil if the token is not valid.
    func person(of accessToken: String) -> String? {
        sessions.values.first { $0.accessToken == accessToken && $0.endReason == nil }?.person
    }

    /// - Returns: Whether there was any session with an access token.
    mutating func expireAccessTokens() -> Bool {
        let hasAny = sessions.values.contains { !$0.accessToken.isEmpty && $0.endReason == nil }
        for token in sessions.keys { sessions[token]?.accessToken = "" }
        return hasAny
    }

    /// - Returns: Whether the device had a session.
    mutating func revoke(device: String) -> Bool {
        let living = sessions.filter { $0.value.device == device && $0.value.endReason == nil }.keys
        for token in living { sessions[token]?.endReason = "revoked" }
        return !living.isEmpty
    }

    mutating func answer(_ path: String, _ body: [UInt8]) -> (status: Int, body: [UInt8]) {
        switch path {
        case "/auth/token": return refresh(Self.form(body)["refresh_token"] ?? "")
        case "/auth/revoke":
            sessions[Self.form(body)["token"] ?? ""] = nil
            return (200, [])
        default:
            let call = try? JSON(parsing: body)
            lastNumber += 1
            let token = "refresh-\(lastNumber)"
            sessions[token] = Entry(
                device: call?["device"]?["name"]?.string ?? "", person: call?["email"]?.string ?? "", accessToken: "")
            return refresh(token)
        }
    }

    private mutating func refresh(_ token: String) -> (status: Int, body: [UInt8]) {
        guard let entry = sessions[token], entry.endReason == nil else {
            let reason = sessions[token]?.endReason ?? "revoked"
            return (400, JSON.object(["error": "invalid_grant", "reason": .string(reason)]).bytes)
        }
        lastNumber += 1
        let accessToken = "access-\(lastNumber)"
        sessions[token]?.accessToken = accessToken
        return (
            200,
            JSON.object([
                "access_token": .string(accessToken), "refresh_token": .string(token), "expires_in": 900,
                "account_id": .string(entry.person),
            ]).bytes
        )
    }

    private static func form(_ body: [UInt8]) -> [String: String] {
        let pairs = String(decoding: body, as: UTF8.self).split(separator: "&").map { pair in
            pair.split(separator: "=", maxSplits: 1).map { String($0).removingPercentEncoding ?? "" }
        }
        return Dictionary(pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") }, uniquingKeysWith: { $1 })
    }
}
