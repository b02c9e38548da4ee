// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import HTTPTypes

/// Carries one request to a server and brings back the answer, once: it never retries and follows no redirect.
///
/// The session above it decides what is sent again. A transport keeps seven promises, whatever the server sends:
/// - It throws ``TransportError`` with the phase it had reached, and nothing else but `CancellationError`.
/// - It goes to http and https only, and throws `unsupported` for any other address.
/// - It gives up with `timedOut` when the head of the answer has not come within ``TransportRequest/headTimeout``.
/// - It ends promptly when its task is cancelled.
/// - The body of the answer is pulled: a body that the caller does not read is not buffered without bound.
/// - It sends ``TransportRequest/bodyFile`` in pieces, or throws `unsupported` if there is one.
/// - However many requests with ``TransportRequest/isLong`` are under way, it sends others.
public protocol Transport: Sendable {
    /// Sends a request and returns as soon as the head of the answer is there.
    ///
    /// - Throws: ``TransportError``, or `CancellationError` when the calling task is cancelled.
    func send(_ request: TransportRequest) async throws -> TransportResponse
}

/// One request on its way: a head that names the whole address, and a body in memory or in a file.
public struct TransportRequest: Sendable {
    /// Method, scheme, authority, path and header fields. All four of the former are set.
    public var head: HTTPRequest
    /// The bytes to send. Default: none.
    public var body: [UInt8]
    /// The file to send instead, read in pieces. ``body`` is then empty. Default: nil, none.
    public var bodyFile: URL?
    /// The longest wait for the head of the answer. Default: 15 s.
    public var headTimeout: Duration
    /// Whether sending the request twice does no more than sending it once. A transport may then replace, once, a kept
    /// connection that turns out to be closed. Default: false.
    public var isRepeatable: Bool
    /// Whether the exchange may take long, as an event stream or a file does. Such exchanges have connections of their own,
    /// so that other requests need not wait for them. Default: false.
    public var isLong: Bool

    /// Makes a request, unchecked. Each property says its default.
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
    /// The whole address. Nil: it is not an address of http or https, or its parts together lead to another host.
    var url: URL? {
        guard let authority = head.authority, let path = head.path, path.utf8.first == UInt8(ascii: "/"),
            !authority.utf8.contains(where: "/?#@\\".utf8.contains),
            let url = URL(string: "\(head.scheme ?? "")://\(authority)\(path)"), Origin(url) != nil
        else { return nil }
        return url
    }
}

extension TransportRequest: CustomStringConvertible, CustomReflectable {
    /// Method and address, without the query and without any header field: those may hold secrets.
    public var description: String {
        let path = (head.path ?? "").prefix { $0 != "?" }
        return
            "\(head.method) \(head.scheme ?? "")://\(head.authority ?? "")\(path), \(bodyFile == nil ? "\(body.count) bytes" : "a file")"
    }

    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// The head of an answer, and a body that can be read once.
public struct TransportResponse: Sendable {
    /// The status and the header fields.
    public var head: HTTPResponse
    /// The body, which arrives while it is read. If the caller does not read it, the transport stops receiving.
    public var body: ResponseBody

    /// Makes a response, by default one with an empty body.
    public init(head: HTTPResponse, body: ResponseBody = ResponseBody([])) {
        self.head = head
        self.body = body
    }
}
