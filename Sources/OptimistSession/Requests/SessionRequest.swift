// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import HTTPTypes

/// A request that an app or an engine makes. The session adds the server's address, the credential and the retries.
public struct SessionRequest: Sendable {
    /// The method. Default: GET.
    public var method: HTTPRequest.Method
    /// A path such as `"/jmap"`, with its query, or a whole URL on the server's own origin. Another origin is refused
    /// with `foreignOrigin`.
    public var target: String
    /// Further header fields. The session sets `Authorization` itself. Default: none.
    public var headerFields: HTTPFields
    /// The bytes to send. Default: none.
    public var body: [UInt8]
    /// The file to send in place of ``body``.
    var bodyFile: URL?
    /// How often the session may send the request in all, from 1 on. A repetition after a refresh does not count.
    /// Default: 3.
    ///
    /// Pass 1 if the caller has a schedule of its own, so that retries happen at one level.
    public var attempts: Int
    /// Whether sending the request twice does no more than sending it once. Until it is set: true for an idempotent
    /// ``method``, and if there is an ``idempotencyKey``.
    public var isRepeatable: Bool {
        get { declaredRepeatable ?? (Self.idempotentMethods.contains(method) || idempotencyKey != nil) }
        set { declaredRepeatable = newValue }
    }
    /// What the app said. Nil: nothing.
    private var declaredRepeatable: Bool?
    /// Tells the server that several attempts are one request. Printable ASCII, sent in `Idempotency-Key` with each
    /// attempt. Default: nil, none.
    ///
    /// > Source: IETF, draft-ietf-httpapi-idempotency-key-header.
    public var idempotencyKey: String?
    /// What happens while the session cannot be renewed or there is no network. Default: ``Urgency/interactive``.
    public var urgency: Urgency
    /// The longest wait for the head of each answer. Default: 15 s.
    public var headTimeout: Duration
    /// The longest time for the whole call, every attempt and wait included. Default: 60 s. A stream has no deadline:
    /// for it, this is the longest time to read an answer without success.
    public var deadline: Duration
    /// The most bytes of an answer's body. A larger one is an error with kind `tooLarge`. Default: 32 MiB. A stream has
    /// no such limit, except for an answer without success.
    public var maxResponseBytes: Int

    /// Makes a request. Each property says its default. `attempts` below 1 stops the program.
    public init(
        _ target: String, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], body: [UInt8] = [],
        attempts: Int = 3, isRepeatable: Bool? = nil, idempotencyKey: String? = nil, urgency: Urgency = .interactive,
        headTimeout: Duration = .seconds(15), deadline: Duration = .seconds(60), maxResponseBytes: Int = 32 << 20
    ) {
        precondition(attempts >= 1, "a request is sent at least once")
        self.method = method
        self.target = target
        self.headerFields = headerFields
        self.body = body
        self.attempts = attempts
        declaredRepeatable = isRepeatable
        self.idempotencyKey = idempotencyKey
        self.urgency = urgency
        self.headTimeout = headTimeout
        self.deadline = deadline
        self.maxResponseBytes = maxResponseBytes
    }

    /// Makes a request with a value as JSON, and says so in `Content-Type`. The other properties have their defaults.
    ///
    /// - Parameters:
    ///   - target: See ``target``.
    ///   - method: Default: POST.
    ///   - value: The value to send.
    ///   - encoder: Default: nil, one that writes dates as ISO 8601.
    /// - Throws: `EncodingError`.
    public init(
        _ target: String, method: HTTPRequest.Method = .post, json value: some Encodable,
        encoder: JSONEncoder? = nil
    ) throws {
        self.init(
            target, method: method, headerFields: [.contentType: "application/json"],
            body: Array(try (encoder ?? .iso8601).encode(value)))
    }

    /// The header fields with the key.
    var allFields: HTTPFields {
        guard let idempotencyKey, let name = HTTPField.Name("Idempotency-Key") else { return headerFields }
        var fields = headerFields
        let text = idempotencyKey.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        fields[name] = "\"\(text)\""
        return fields
    }

    /// Whether a user waits for the request.
    public enum Urgency: Sendable {
        /// A user waits: if the request cannot be sent now it fails at once, with an error that says when to try again.
        case interactive
        /// No user waits: the request waits until the session is renewed and the server can be reached, up to its
        /// deadline. Attempts that did not reach the server are not counted.
        case background
    }

    /// > Source: RFC 9110, section 9.2.2.
    private static let idempotentMethods: Set<HTTPRequest.Method> = [.get, .head, .options, .trace, .put, .delete]
}

extension JSONEncoder {
    /// Writes dates as ISO 8601 text.
    fileprivate static var iso8601: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        return encoder
    }
}
