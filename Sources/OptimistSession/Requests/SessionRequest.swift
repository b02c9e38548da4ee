// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes

/// What an app or an engine asks of the server; the session adds the address, the credential and the patience.
public struct SessionRequest: Sendable {
    public var method: HTTPRequest.Method
    /// A path such as `"/jmap"`, with its query, or a whole URL on the server's own origin.
    public var target: String
    public var headerFields: HTTPFields
    public var body: [UInt8]
    /// How often it may be sent in all, not counting that it is sent again after a refresh. Default: 3.
    ///
    /// One for callers with a schedule of their own: retries happen at one level.
    public var attempts: Int
    /// Whether sending it twice does no more than sending it once. Until it is set: as ``method`` says, and yes if there is
    /// an ``idempotencyKey``.
    public var isRepeatable: Bool {
        get { declaredRepeatable ?? (Self.idempotentMethods.contains(method) || idempotencyKey != nil) }
        set { declaredRepeatable = newValue }
    }
    /// What the app said. Nil: nothing.
    private var declaredRepeatable: Bool?
    /// Tells the server that several attempts are one request: printable ASCII. Sent in `Idempotency-Key`, the same with each
    /// attempt. Nil, the default: none.
    ///
    /// > Source: IETF, draft-ietf-httpapi-idempotency-key-header.
    public var idempotencyKey: String?
    /// What happens while the session cannot be renewed or no network is there. Default: ``Urgency/interactive``.
    public var urgency: Urgency
    /// The longest wait for the head of each answer. Default: 15 s.
    public var headTimeout: Duration
    /// The longest the whole call may take, every attempt and wait included. Default: 60 s. A stream has none: for it, this
    /// is the longest that reading an answer without success may take.
    public var deadline: Duration
    /// The most bytes accepted as an answer. Default: 32 MiB. A stream has no such limit, except for an answer without
    /// success.
    public var answerLimitBytes: Int

    public init(
        _ method: HTTPRequest.Method = .get, _ target: String, headerFields: HTTPFields = [:], body: [UInt8] = [],
        attempts: Int = 3, isRepeatable: Bool? = nil, idempotencyKey: String? = nil, urgency: Urgency = .interactive,
        headTimeout: Duration = .seconds(15), deadline: Duration = .seconds(60), answerLimitBytes: Int = 32 << 20
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
        self.answerLimitBytes = answerLimitBytes
    }

    /// The header fields with the key.
    var allFields: HTTPFields {
        guard let idempotencyKey, let name = HTTPField.Name("Idempotency-Key") else { return headerFields }
        var fields = headerFields
        let text = idempotencyKey.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        fields[name] = "\"\(text)\""
        return fields
    }

    /// Who waits for a request.
    public enum Urgency: Sendable {
        /// A person: what cannot be done now fails at once, with an error that says when to try again.
        case interactive
        /// Nobody: it waits until the session is renewed and the server can be reached, up to its deadline. Attempts that
        /// reached nobody are not counted.
        case background
    }

    /// > Source: RFC 9110, section 9.2.2.
    private static let idempotentMethods: Set<HTTPRequest.Method> = [.get, .head, .options, .trace, .put, .delete]
}
