// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes

/// The answer with which a server refused a credential. It is the cause of an `OptimistError` with code
/// `credentialRefused`. If a request received such an answer, it is also the cause of `refreshPostponed`.
///
/// An endpoint may use 401 for something else, such as a wrong second password. The answer then contains the details:
///
/// ```swift
/// do { try await session.send(request) } catch let error as OptimistError where error.code == .credentialRefused {
///     let answer = error.cause as? RefusedAnswer
/// }
/// ```
public struct RefusedAnswer: Error, Sendable {
    /// The status and header fields.
    public let head: HTTPResponse
    /// The body. Empty if it did not arrive completely.
    public let body: [UInt8]

    /// Makes an answer, for tests.
    public init(head: HTTPResponse, body: [UInt8]) {
        self.head = head
        self.body = body
    }
}

extension RefusedAnswer: CustomStringConvertible, CustomReflectable {
    /// The status and size, without the body, which may contain users' text.
    public var description: String { "the server answered \(head.status.code), \(body.count) bytes" }

    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
