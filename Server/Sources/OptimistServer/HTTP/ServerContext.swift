// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import NIOCore

/// What the server knows of a request beside the request.
struct ServerContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// The sender of the request. Nil until ``Authentication`` has checked the token.
    var identity: Accounts.Identity?
    /// What the request is called in its answer and in the log. Not from the log's metadata: a log that keeps none has none.
    var requestID = RequestID().description

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// The address of the other end of the connection: a proxy's, if there is one.
    var peerAddress: String { channel.remoteAddress?.ipAddress ?? "unknown" }
}

extension Hummingbird.Request {
    /// The address that the proxy before the server saw: the last one it added. The others anybody can write there. Nil: the
    /// proxy names none.
    var forwardedAddress: String? {
        lastHeader("x-forwarded-for")?.split(separator: ",").last.flatMap { NetworkAddress.text(of: $0) }
    }

    /// The address under which clients know the server.
    func origin(isBehindProxy: Bool) -> String {
        let authority = head.authority ?? ""
        return "\(isBehindProxy && cameByTLS ? "https" : "http")://\(authority.isEmpty ? "localhost" : authority)"
    }

    /// Whether the proxy before the server says that the client speaks TLS to it. Without one anybody can say so.
    var cameByTLS: Bool { lastHeader("x-forwarded-proto") == "https" }

    /// The token of `Authorization: Bearer …`.
    var bearerToken: String? {
        guard let value = headers[.authorization]?.utf8, value.count > 7 else { return nil }
        let scheme = value.prefix(7)
        guard scheme.elementsEqual("Bearer ".utf8) || String(scheme)?.lowercased() == "bearer " else { return nil }
        return String(value.dropFirst(7).drop { $0 == UInt8(ascii: " ") })
    }

    /// - Parameter name: In lower case.
    private func lastHeader(_ name: String) -> String? { headers.last { $0.name.canonicalName == name }?.value }
}
