// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
import OptimistSession
@_spi(Internals) import OptimistWire

/// Classifies HTTP answers and errors for the sync engine, by the table of errors in the protocol.
package enum AnswerClass {
    /// Returns the failure of an entire answer. Nil if it carries method responses.
    ///
    /// - Parameter date: The answer's `Date`, which a date in `Retry-After` is relative to. If nil, a date in
    ///   `Retry-After` is ignored.
    package static func failure(status: Int, retryAfter: String?, date: String? = nil, body: [UInt8]) -> RemoteFailure?
    {
        if (200..<300).contains(status) { return nil }
        let problem = (try? JSON(parsing: body)).flatMap { RequestProblem(json: $0) }
        let name = problem?.type.split(separator: ":").last.map(String.init) ?? ""
        switch (status, name) {
        case (429, _), (503, _):
            let made = date.flatMap { HTTPDate.parse($0) }
            guard let seconds = retryAfter.flatMap({ RetryAfter.seconds($0, since: made) }) else {
                return .unreachable("HTTP \(status)")
            }
            return .throttled(after: bounded(seconds, by: ServerDemand.ofRequests))
        case (409, "pushRewound"): return .pushRewound
        case (400, "limit"), (413, "limit"): return .tooLarge(isProtocolLimit: true)
        case (413, _): return .tooLarge(isProtocolLimit: false)
        case (400, "notJSON"), (400, "notRequest"), (400, "unknownCapability"):
            return .protocolError("The server does not understand this version of the app (\(name)).")
        case (400, _): return .refused(problem?.detail ?? "HTTP 400")
        case (403, _): return .forbidden("The server refuses this account.")
        default: return .unreachable("HTTP \(status)")
        }
    }

    /// Returns the failure of a request for the event stream. Nil if the answer is an event stream.
    ///
    /// A refused stream does not mean that the account is refused: a proxy may refuse long answers. Pushes and pulls
    /// show whether the account is refused.
    static func failure(ofStream head: HTTPResponse) -> RemoteFailure? {
        if head.status == .noContent { return .noPokes }
        let failure = failure(
            status: head.status.code, retryAfter: head.headerFields[.retryAfter], date: head.headerFields[.date],
            body: [])
        if case .forbidden(let message) = failure { return .unreachable(message) }
        if let failure { return failure }
        guard let type = head.headerFields[.contentType], !type.lowercased().hasPrefix("text/event-stream") else {
            return nil
        }
        return .unreachable("The server sent \(type) instead of its event stream.")
    }

    static func failure(_ error: any Error) -> RemoteFailure {
        if let error = error as? TransportError, error.phase == .notSent { return .notSent("\(error.kind)") }
        guard let error = error as? OptimistError else { return .unreachable(String(describing: error)) }
        switch error.code {
        case .signedOut: return .signedOut(error.message)
        case .badServerAddress, .foreignOrigin, .plaintextRefused: return .forbidden(error.message)
        default:
            if case .retry(let after) = error.remedy { return .throttled(after: after) }
            return .unreachable(error.message)
        }
    }

    /// - Parameter inSpace: Whether the call names a space. Otherwise it names the person's own account.
    static func failure(ofMethod error: JSONObject, inSpace: Bool = false) -> RemoteFailure {
        switch error["type"]?.string {
        case "cannotCalculateChanges": .cursorLost
        case "forked": .forked([RemoteEpoch](json: error["epochs"]))
        case "accessEnded": .accessEnded(EndedAccess(json: error))
        case "accountNotFound" where inSpace: .spaceNotFound
        case "accountNotFound", "accountNotSupportedByMethod", "forbidden":
            .forbidden("The server refuses this account.")
        case let type: .unreachable(type ?? "an unknown error")
        }
    }

    /// Row errors that the protocol defines as final. All others are retried (V1).
    private static let final: Set<String> = [
        "invalidProperties", "forbidden", "overQuota", "tooLarge", "uniqueViolation", "immutable", "roleForbids",
        "lastOwner", "crossesSpaces", "spaceLimit", "invitationInvalid",
    ]

    /// - Parameter seq: The account's last transaction after the push.
    static func verdict(_ error: SetError, on change: RemotePush.Row.Change, at seq: Int64) -> RemotePush.Verdict {
        switch error.type {
        case "notFound":
            if case .delete = change, error.deletion?.movedTo == nil { return .accepted(seq: seq) }
            return .gone(seq: seq, error.deletion)
        case "groupFailed": return .groupFailed(by: error.blockedBy, current: error.current)
        case "lifeUnknown": return .lifeUnknown
        case "behind" where !error.blockedBy.isEmpty: return .leaves(error.blockedBy)
        case "blocked": return .blocked(by: error.blockedBy.first ?? "")
        case let type where final.contains(type):
            return .rejected(
                RemotePush.Refusal(
                    code: error.code ?? type, message: error.description ?? type, current: error.current,
                    columns: error.properties,
                    winner: error.winner))
        default:
            return .retry(
                after: error.retryAfterSeconds.map { bounded($0, by: ServerDemand.ofRow) },
                DeferralReason(error.type, column: error.properties.first))
        }
    }

    /// Limits a number of seconds to a duration from zero to `limit`. It clamps the number first, because a far larger
    /// number would overflow a duration.
    private static func bounded(_ seconds: Double, by limit: Duration) -> Duration {
        .seconds(min(max(seconds, 0), limit / .seconds(1)))
    }
}
