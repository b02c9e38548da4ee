// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes

/// The answer by which a server refused a credential: the cause of an `OptimistError` with code `credentialRefused`, and
/// of `refreshPostponed` if a request met it.
///
/// An endpoint may mean something else by its 401, such as a wrong second password. Then the answer says what:
///
/// ```swift
/// do { try await session.send(request) } catch let error as OptimistError where error.code == .credentialRefused {
///     let answer = error.cause as? RefusedAnswer
/// }
/// ```
public struct RefusedAnswer: Error, Sendable {
    /// The status and the header fields of the answer.
    public let head: HTTPResponse
    /// The body as it came. Empty if it did not arrive whole.
    public let body: [UInt8]

    /// Makes an answer, for tests.
    public init(head: HTTPResponse, body: [UInt8]) {
        self.head = head
        self.body = body
    }
}

extension RefusedAnswer: CustomStringConvertible, CustomReflectable {
    /// The status and the size. The body may hold what people wrote.
    public var description: String { "the server answered \(head.status.code), \(body.count) bytes" }

    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
