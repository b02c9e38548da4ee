// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import NIOCore

/// What the server knows of a request beside the request.
struct ServerContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// The address of whoever is at the other end of the connection: a proxy's, if there is one.
    var remoteAddress: String { channel.remoteAddress?.ipAddress ?? "unknown" }
}

extension Hummingbird.Request {
    /// The token of `Authorization: Bearer …`.
    var bearerToken: String? {
        guard let value = headers[.authorization]?.utf8, value.count > 7 else { return nil }
        let scheme = value.prefix(7)
        guard scheme.elementsEqual("Bearer ".utf8) || String(scheme)?.lowercased() == "bearer " else { return nil }
        return String(value.dropFirst(7).drop { $0 == UInt8(ascii: " ") })
    }
}
