// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// Resolves the URLs in a server's session resource for the client that fetched it.
enum OwnTarget {
    /// Returns the target for a URL.
    ///
    /// A server behind a TLS proxy may not know about the proxy and return `http` URLs. If such a URL has the session's
    /// host, this returns its path, so that the client uses the session's scheme. Every other URL is returned
    /// unchanged: the session refuses URLs of other servers.
    static func target(of url: String, for server: URL) -> String {
        let prefix = "http://"
        guard server.scheme?.lowercased() == "https", url.lowercased().hasPrefix(prefix) else { return url }
        let rest = url.dropFirst(prefix.count)
        let authority = rest.prefix { $0 != "/" }
        let own = (server.host() ?? "") + (server.port.map { ":\($0)" } ?? "")
        guard authority.lowercased() == own.lowercased(), authority.count < rest.count else { return url }
        return String(rest.dropFirst(authority.count))
    }
}
