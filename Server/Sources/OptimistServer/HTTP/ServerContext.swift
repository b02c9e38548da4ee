// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import NIOCore

struct ServerContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// Nil until ``Authentication`` has checked the token.
    var identity: Accounts.Identity?
    /// Nil unless ``SenderAuthentication`` has found the service key of the request.
    var serviceKey: ServiceKey?
    /// The id does not come from the logger's metadata, because a logger may drop it.
    var requestID = RequestID().description

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// The proxy's address, if there is one.
    var peerAddress: String { channel.remoteAddress?.ipAddress ?? "unknown" }
}

extension Hummingbird.Request {
    /// The client's address as seen by the proxy. It is the header's last entry; any client can forge the other
    /// entries.
    var forwardedAddress: String? {
        lastHeader("x-forwarded-for")?.split(separator: ",").last.flatMap { NetworkAddress.text(of: $0) }
    }

    func origin(isBehindProxy: Bool) -> String {
        let authority = head.authority ?? ""
        return "\(isBehindProxy && cameByTLS ? "https" : "http")://\(authority.isEmpty ? "localhost" : authority)"
    }

    /// As reported by the proxy. Without a proxy any client can set this.
    var cameByTLS: Bool { lastHeader("x-forwarded-proto") == "https" }

    var bearerToken: String? {
        guard let value = headers[.authorization]?.utf8, value.count > 7 else { return nil }
        let scheme = value.prefix(7)
        guard scheme.elementsEqual("Bearer ".utf8) || String(scheme)?.lowercased() == "bearer " else { return nil }
        return String(value.dropFirst(7).drop { $0 == UInt8(ascii: " ") })
    }

    /// - Parameter name: In lower case.
    private func lastHeader(_ name: String) -> String? { headers.last { $0.name.canonicalName == name }?.value }
}
