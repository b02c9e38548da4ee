// This source file is part of the Optimist open source project, under the MIT licence.

import Logging

enum Exposure: Hashable, Sendable {
    case loopback
    /// Without TLS, and without a proxy in front of the server.
    case network
    /// Behind a proxy, but clients that bypass it can send any `X-Forwarded-For` address.
    case pastProxy

    func warn(_ configuration: ServerConfiguration) {
        let place: Logger.Metadata = ["host": "\(configuration.host)", "port": "\(configuration.port)"]
        switch self {
        case .loopback: break
        case .network:
            configuration.logger.warning(
                """
                The server listens beyond this machine without TLS. Anyone on the network path can read passwords, \
                tokens and rows, and can use the tokens. Put a TLS proxy in front of it, set \
                --behind-proxy, and let the server listen on 127.0.0.1.
                """, metadata: place)
        case .pastProxy:
            configuration.logger.notice(
                """
                The server trusts X-Forwarded-For and listens beyond this machine. Make sure that only the proxy can \
                reach this port: other clients could fake their address to avoid the limits on attempts.
                """, metadata: place)
        }
    }
}

extension ServerConfiguration {
    var exposure: Exposure {
        if Self.isLoopback(host) { return .loopback }
        return isBehindProxy ? .pastProxy : .network
    }

    /// Any name except `localhost` counts as reachable from elsewhere.
    static func isLoopback(_ host: String) -> Bool {
        ["localhost", "::1"].contains(host.lowercased())
            || host.wholeMatch(of: /127\.\d{1,3}\.\d{1,3}\.\d{1,3}/) != nil
    }
}
