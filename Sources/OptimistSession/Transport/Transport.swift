// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import HTTPTypes

/// Sends one request to a server and returns the answer. It never retries and never follows a redirect.
///
/// The session decides what to send again. A transport guarantees, whatever the server sends:
/// - It throws only `CancellationError` and ``TransportError``, with the phase that the request had reached.
/// - It accepts only http and https, and throws `unsupported` for any other address.
/// - It throws `timedOut` if the head of the answer does not arrive within ``TransportRequest/headTimeout``.
/// - It ends promptly when its task is cancelled.
/// - It fetches the answer's body on demand: an unread body is not buffered without bound.
/// - It sends ``TransportRequest/bodyFile`` in chunks, or throws `unsupported` if there is one.
/// - Requests with ``TransportRequest/isLong`` do not block others, however many there are.
public protocol Transport: Sendable {
    /// Sends a request and returns when the head of the answer has arrived.
    ///
    /// - Throws: ``TransportError``, or `CancellationError` if the calling task is cancelled.
    func send(_ request: TransportRequest) async throws -> TransportResponse
}

/// A request for a transport, with the full address and a body in memory or in a file.
public struct TransportRequest: Sendable {
    /// The method, scheme, authority, path and header fields. The first four are always set.
    public var head: HTTPRequest
    /// The body. Default: empty.
    public var body: [UInt8]
    /// The file to send in chunks instead of ``body``, which is then empty. Default: nil.
    public var bodyFile: URL?
    /// The timeout for the head of the answer. Default: 15 s.
    public var headTimeout: Duration
    /// Whether the request may safely be sent twice. A transport may then reconnect once if an idle connection turns
    /// out to be closed. Default: false.
    public var isRepeatable: Bool
    /// Whether the exchange may take a long time, as an event stream or a file does. Such exchanges use separate
    /// connections, so that other requests do not wait for them. Default: false.
    public var isLong: Bool

    /// Makes a request, unchecked. Each property documents its default.
    public init(
        head: HTTPRequest, body: [UInt8] = [], bodyFile: URL? = nil, headTimeout: Duration = .seconds(15),
        isRepeatable: Bool = false, isLong: Bool = false
    ) {
        self.head = head
        self.body = body
        self.bodyFile = bodyFile
        self.headTimeout = headTimeout
        self.isRepeatable = isRepeatable
        self.isLong = isLong
    }
}

extension TransportRequest {
    /// The absolute URL. Nil if it is not http or https, or if the combined parts name another host.
    var url: URL? {
        guard let authority = head.authority, let path = head.path, path.utf8.first == UInt8(ascii: "/"),
            !authority.utf8.contains(where: "/?#@\\".utf8.contains),
            let url = URL(string: "\(head.scheme ?? "")://\(authority)\(path)"), Origin(url) != nil
        else { return nil }
        return url
    }
}

extension TransportRequest: CustomStringConvertible, CustomReflectable {
    /// The method and address, without the query and header fields, which may contain secrets.
    public var description: String {
        let path = (head.path ?? "").prefix { $0 != "?" }
        return
            "\(head.method) \(head.scheme ?? "")://\(head.authority ?? "")\(path), \(bodyFile == nil ? "\(body.count) bytes" : "a file")"
    }

    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// The head of an answer, and a body that can be read once.
public struct TransportResponse: Sendable {
    /// The status and header fields.
    public var head: HTTPResponse
    /// The body, received as it is read. If it is not read, the transport stops receiving.
    public var body: ResponseBody

    /// Makes a response, by default one with an empty body.
    public init(head: HTTPResponse, body: ResponseBody = ResponseBody([])) {
        self.head = head
        self.body = body
    }
}
