// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import HTTPTypes

/// How the session interprets a server's answers. For a server with other conventions, pass your own rules.
public struct ResponseRules: Sendable {
    /// The effect of an answer on the session.
    public enum Meaning: Equatable, Sendable {
        /// The access token is refused: get another one and send the request again.
        case tokenRefused
        /// The session has ended and cannot be resumed.
        case ended(SignOutReason)
        /// The answer does not concern the session.
        case nothing
    }

    /// Interprets the answer to an ordinary request. Called only for statuses outside 200...299, on any thread.
    public var request: @Sendable (_ head: HTTPResponse, _ body: [UInt8]) -> Meaning
    /// Interprets the answer to a refresh if the answer grants no tokens. Called on any thread. The status may be a
    /// success, because some servers refuse with 200. The session retries the refresh later unless the meaning is
    /// ``Meaning/ended(_:)``.
    public var refresh: @Sendable (_ head: HTTPResponse, _ body: [UInt8]) -> Meaning

    /// Makes rules from two functions. They must be fast and must not block.
    public init(
        request: @escaping @Sendable (_ head: HTTPResponse, _ body: [UInt8]) -> Meaning,
        refresh: @escaping @Sendable (_ head: HTTPResponse, _ body: [UInt8]) -> Meaning
    ) {
        self.request = request
        self.refresh = refresh
    }

    /// The rules for Optimist's server and any other that follows RFC 6749 and RFC 6750.
    ///
    /// An `invalid_grant` answer to a refresh, with status 400 or 200, ends the session with the answer's `reason`. So
    /// does a 401 with one of our reasons, in the body or in `WWW-Authenticate`. Any other 401 to a request means that
    /// the access token is refused.
    public static let optimist = ResponseRules(
        request: { head, body in
            guard head.status == .unauthorized else { return .nothing }
            return terminalReason(head, body).map { .ended($0) } ?? .tokenRefused
        },
        refresh: { head, body in
            switch head.status {
            case .unauthorized:
                return terminalReason(head, body).map { .ended($0) } ?? .nothing
            case .badRequest, .ok:
                guard let refusal = Refusal(body), refusal.error == "invalid_grant" else { return .nothing }
                return .ended(refusal.reason.map(SignOutReason.init(rawValue:)) ?? .refused)
            default:
                return .nothing
            }
        })

    /// Returns rules that depend only on the status, for requests and refreshes alike.
    ///
    /// ```swift
    /// let answers = ResponseRules.byStatus([
    ///     401: .tokenRefused, 402: .ended(.refreshExpired), 499: .ended(.signedInElsewhere),
    /// ])
    /// ```
    ///
    /// - Parameter meanings: The meanings by status. Other statuses do not concern the session.
    public static func byStatus(_ meanings: [Int: Meaning]) -> ResponseRules {
        let meaning: @Sendable (HTTPResponse, [UInt8]) -> Meaning = { head, _ in meanings[head.status.code] ?? .nothing
        }
        return ResponseRules(request: meaning, refresh: meaning)
    }

    private static let terminalReasons: Set<SignOutReason> = [
        .refreshExpired, .signedInElsewhere, .revoked, .reuseDetected, .passwordChanged, .accountDeleted,
    ]

    private static func terminalReason(_ head: HTTPResponse, _ body: [UInt8]) -> SignOutReason? {
        let challenges = head.headerFields[values: .wwwAuthenticate].compactMap { challengeParameter("reason", in: $0) }
        let named = [Refusal(body)?.reason].compactMap(\.self) + challenges
        return named.map(SignOutReason.init(rawValue:)).first(where: terminalReasons.contains)
    }

    /// Returns a parameter of a challenge such as `Bearer error="invalid_token", reason="revoked"`.
    private static func challengeParameter(_ name: String, in challenge: String) -> String? {
        for parameter in challenge.split(whereSeparator: { $0 == "," || $0 == " " }) {
            let sides = parameter.split(separator: "=", maxSplits: 1)
            guard sides.count == 2, sides[0].lowercased() == name else { continue }
            return String(sides[1].drop { $0 == "\"" }.prefix { $0 != "\"" })
        }
        return nil
    }
}

/// The body of a refusal.
///
/// > Source: RFC 6749, section 5.2. `reason` is our extension.
struct Refusal: Decodable {
    var error: String
    var reason: String?

    init?(_ body: [UInt8]) {
        guard let refusal = try? JSONDecoder().decode(Self.self, from: Data(body)) else { return nil }
        self = refusal
    }
}
