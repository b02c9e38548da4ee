// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import HTTPTypes

/// A request by an app or engine. The session adds the server's address, the credential and retries.
public struct SessionRequest: Sendable {
    /// The method. Default: GET.
    public var method: HTTPRequest.Method
    /// A path such as `"/jmap"`, with its query, or an absolute URL on the server's own origin. The session refuses
    /// other origins with `foreignOrigin`.
    public var target: String
    /// Additional header fields. The session sets `Authorization`. Default: none.
    public var headerFields: HTTPFields
    /// The body. Default: empty.
    public var body: [UInt8]
    /// The file to send instead of ``body``.
    var bodyFile: URL?
    /// The maximum number of attempts, at least 1. Sending again after a refresh does not count. Default: 3.
    ///
    /// Pass 1 if the caller has its own retry schedule.
    public var attempts: Int
    /// Whether the request may safely be sent twice. Default: true for an idempotent ``method`` or with an
    /// ``idempotencyKey``.
    public var isRepeatable: Bool {
        get { declaredRepeatable ?? (Self.idempotentMethods.contains(method) || idempotencyKey != nil) }
        set { declaredRepeatable = newValue }
    }
    private var declaredRepeatable: Bool?
    /// A key that identifies all attempts of the request to the server. Printable ASCII, sent as `Idempotency-Key`.
    /// Default: nil.
    ///
    /// > Source: IETF, draft-ietf-httpapi-idempotency-key-header.
    public var idempotencyKey: String?
    /// How the request behaves while the session cannot be renewed or there is no network. Default:
    /// ``Urgency/interactive``.
    public var urgency: Urgency
    /// The timeout for each answer's head. Default: 15 s.
    public var headTimeout: Duration
    /// The timeout for the complete call, including every attempt and wait. Default: 60 s. A stream has no deadline:
    /// this limits only how long reading an unsuccessful answer may take.
    public var deadline: Duration
    /// The maximum size of an answer's body in bytes. A larger one is an error of kind `tooLarge`. Default: 32 MiB. For
    /// a stream, this applies only to an unsuccessful answer.
    public var maxResponseBytes: Int

    /// Makes a request. Each property documents its default. `attempts` below 1 traps.
    public init(
        _ target: String, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], body: [UInt8] = [],
        attempts: Int = 3, isRepeatable: Bool? = nil, idempotencyKey: String? = nil, urgency: Urgency = .interactive,
        headTimeout: Duration = .seconds(15), deadline: Duration = .seconds(60), maxResponseBytes: Int = 32 << 20
    ) {
        precondition(attempts >= 1, "a request needs at least one attempt")
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

    /// Makes a request with a value as JSON, and sets `Content-Type`. The other properties have their defaults.
    ///
    /// - Parameters:
    ///   - target: See ``target``.
    ///   - method: Default: POST.
    ///   - value: The value to send.
    ///   - encoder: Default: nil, an encoder with ISO 8601 dates.
    /// - Throws: `EncodingError`.
    public init(
        _ target: String, method: HTTPRequest.Method = .post, json value: some Encodable,
        encoder: JSONEncoder? = nil
    ) throws {
        self.init(
            target, method: method, headerFields: [.contentType: "application/json"],
            body: Array(try (encoder ?? .iso8601).encode(value)))
    }

    var allFields: HTTPFields {
        guard let idempotencyKey, let name = HTTPField.Name("Idempotency-Key") else { return headerFields }
        var fields = headerFields
        let text = idempotencyKey.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        fields[name] = "\"\(text)\""
        return fields
    }

    /// Whether a user is waiting for the request.
    public enum Urgency: Sendable {
        /// A user is waiting: if the request cannot be sent now, it fails immediately, with an error that says when to
        /// retry.
        case interactive
        /// No user is waiting: until its deadline, the request waits for the session to be renewed and the server to be
        /// reachable. Attempts that did not reach the server do not count.
        case background
    }

    /// > Source: RFC 9110, section 9.2.2.
    private static let idempotentMethods: Set<HTTPRequest.Method> = [.get, .head, .options, .trace, .put, .delete]
}

extension JSONEncoder {
    fileprivate static var iso8601: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        return encoder
    }
}
