// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// Where the URLs in a server's session lead for the client that has fetched it.
enum OwnTarget {
    /// Returns what the session is asked for instead of a URL.
    ///
    /// A server behind a proxy that speaks TLS may not know of the proxy, and then its URLs begin with `http`. Such a URL
    /// of the session's own host is reached the way the session reaches the host. Every other one stays as it is: the
    /// session refuses what is not its server's.
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
