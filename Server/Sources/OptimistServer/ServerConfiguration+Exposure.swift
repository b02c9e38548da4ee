// This source file is part of the Optimist open source project, under the MIT licence.

import Logging

/// The readers of the traffic between the server and its clients.
enum Exposure: Hashable, Sendable {
    /// This machine only.
    case loopback
    /// Anyone between a client and the server: it speaks no TLS, and no proxy before it does.
    case network
    /// A proxy is said to stand before the server. What reaches the port past it can write any address there.
    case pastProxy

    /// Says what is at risk, as the server starts.
    func warn(_ configuration: ServerConfiguration) {
        let place: Logger.Metadata = ["host": "\(configuration.host)", "port": "\(configuration.port)"]
        switch self {
        case .loopback: break
        case .network:
            configuration.logger.warning(
                """
                The server speaks no TLS, and listens beyond this machine. Whoever is on the way can read passwords, \
                tokens and every row, and can use the tokens. Put a proxy that speaks TLS before it, with \
                --behind-proxy, and let the server listen on 127.0.0.1
                """, metadata: place)
        case .pastProxy:
            configuration.logger.notice(
                """
                X-Forwarded-For is believed, and the server listens beyond this machine. Let nothing but the proxy \
                reach this port: others could choose their address, and so escape the limits on attempts
                """, metadata: place)
        }
    }
}

extension ServerConfiguration {
    var exposure: Exposure {
        if Self.isLoopback(host) { return .loopback }
        return isBehindProxy ? .pastProxy : .network
    }

    /// Whether only this machine can reach an address. A name other than `localhost` counts as one that others reach.
    private static func isLoopback(_ host: String) -> Bool {
        ["localhost", "::1"].contains(host.lowercased())
            || host.wholeMatch(of: /127\.\d{1,3}\.\d{1,3}\.\d{1,3}/) != nil
    }
}
