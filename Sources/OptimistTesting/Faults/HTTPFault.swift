// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes
public import OptimistSession

/// Something that goes wrong with one request, or with its answer.
public enum HTTPFault: Sendable, Hashable {
    /// Nothing listens at the server's address: `refused`, and nothing was sent.
    case refused
    /// No network is there: `unreachable`, and nothing was sent.
    case unreachable
    /// The request is lost on its way, and the connection with it: `broken`. The server has not seen it, which the sender
    /// cannot know.
    case requestLost
    /// The server carries the request out, and the connection is lost before its answer comes: `broken`.
    case answerLost
    /// Nothing is ever answered: `timedOut` after the longest wait for a head.
    case stalled
    /// The connection breaks after so many bytes of the answer's body, or at its end if that comes first.
    case brokenBody(afterBytes: Int)
    /// The body of the answer ends after so many bytes, as if it were whole: a proxy has cut it.
    case truncatedBody(afterBytes: Int)
    /// The server gets the request twice, and the second answer is the one that comes.
    case duplicated
    /// The server's clock is so many seconds ahead, by the `Date` of its answer.
    case clockAhead(seconds: Int)
    /// The request is answered with this, and does not reach the server.
    case answered(Answer)

    /// An answer that the server did not give.
    public struct Answer: Sendable, Hashable {
        /// The HTTP status, such as 401.
        public var status: Int
        /// The header fields. Default: none.
        public var headerFields: HTTPFields
        /// The body as text. Default: empty.
        public var body: String

        /// Makes an answer.
        public init(status: Int, headerFields: HTTPFields = [:], body: String = "") {
            self.status = status
            self.headerFields = headerFields
            self.body = body
        }
    }
}

extension HTTPFault {
    /// 401: the access token is refused.
    public static let tokenRefused = answered(Answer(status: 401))

    /// 429, or another status, with `Retry-After` in seconds.
    public static func busy(retryAfter seconds: Int, status: Int = 429) -> Self {
        answered(Answer(status: status, headerFields: [.retryAfter: String(seconds)]))
    }

    /// The session is over, as Optimist's server says it.
    public static func ended(_ reason: SignOutReason) -> Self {
        answered(
            Answer(
                status: 401, headerFields: [.contentType: "application/json"],
                body: #"{"error":"invalid_token","reason":"\#(reason.rawValue)"}"#))
    }

    /// A proxy answers 200 with a page of its own, as hotels do.
    public static let captivePortal = answered(
        Answer(
            status: 200, headerFields: [.contentType: "text/html"],
            body: "<!doctype html><title>Welcome</title><p>Please accept our terms.</p>"))
}
