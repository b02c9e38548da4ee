// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// Turns the URLs of a server's session resource into targets for the client that fetched it.
enum OwnTarget {
    /// Returns the target to request from the session in place of a URL.
    ///
    /// A server behind a TLS proxy may not know about the proxy, and then its URLs begin with `http`. If such a URL has
    /// the session's own host, the client reaches it as the session reaches the host. Every other URL stays as it is:
    /// the session refuses URLs of other servers.
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
