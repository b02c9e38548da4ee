// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes
public import OptimistSession

/// A failure of a request or its answer.
public enum HTTPFault: Sendable, Hashable {
    /// No server listens at the address: `refused`, and nothing was sent.
    case refused
    /// There is no network: `unreachable`, and nothing was sent.
    case unreachable
    /// The request is lost along with its connection: `broken`. The server never receives it, but the client cannot
    /// know that.
    case requestLost
    /// The server processes the request, but the connection breaks before the answer arrives: `broken`.
    case answerLost
    /// The server never answers: `timedOut` after the request's timeout.
    case stalled
    /// The connection breaks after this many bytes of the answer's body, or at the body's end if the body is shorter.
    case brokenBody(afterBytes: Int)
    /// The answer's body ends after this many bytes without an error, as if a proxy had truncated it.
    case truncatedBody(afterBytes: Int)
    /// The server receives the request twice, and the client receives the second answer.
    case duplicated
    /// The server's clock is this many seconds ahead, by the `Date` of its answer.
    case clockAhead(seconds: Int)
    /// The request is answered with this response, and does not reach the server.
    case answered(Answer)

    /// A response that the server did not send.
    public struct Answer: Sendable, Hashable {
        /// The HTTP status, such as 401.
        public var status: Int
        /// The header fields. Default: none.
        public var headerFields: HTTPFields
        /// The body as text. Default: empty.
        public var body: String

        /// Creates a response.
        public init(status: Int, headerFields: HTTPFields = [:], body: String = "") {
            self.status = status
            self.headerFields = headerFields
            self.body = body
        }
    }
}

extension HTTPFault {
    /// A 401 response: the access token is refused.
    public static let tokenRefused = answered(Answer(status: 401))

    /// A 429 response, or another status, with `Retry-After` in seconds.
    public static func busy(retryAfter seconds: Int, status: Int = 429) -> Self {
        answered(Answer(status: status, headerFields: [.retryAfter: String(seconds)]))
    }

    /// The session has ended, in the format of Optimist's server.
    public static func ended(_ reason: SignOutReason) -> Self {
        answered(
            Answer(
                status: 401, headerFields: [.contentType: "application/json"],
                body: #"{"error":"invalid_token","reason":"\#(reason.rawValue)"}"#))
    }

    /// A captive portal that answers with status 200 and its own page.
    public static let captivePortal = answered(
        Answer(
            status: 200, headerFields: [.contentType: "text/html"],
            body: "<!doctype html><title>Welcome</title><p>Please accept our terms.</p>"))
}
