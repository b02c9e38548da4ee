// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes

/// Scheme, host and port: what a credential may be sent to.
struct Origin: Equatable, Sendable, CustomStringConvertible {
    let scheme: String
    let host: String
    let port: Int

    init?(_ url: URL) {
        guard let scheme = url.scheme?.lowercased(), let host = url.host()?.lowercased(), !host.isEmpty else {
            return nil
        }
        guard let port = url.port ?? Self.defaultPorts[scheme] else { return nil }
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// Host and port as a `Host` field has them.
    var authority: String {
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return port == Self.defaultPorts[scheme] ? name : "\(name):\(port)"
    }

    var description: String { "\(scheme)://\(authority)" }

    /// Whether what is sent there can be read by nobody in between: it is encrypted, or stays on this machine.
    var isPrivate: Bool {
        scheme == "https" || host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || host == "[::1]"
            || Self.isLoopbackIPv4(host)
    }

    private static let defaultPorts = ["https": 443, "http": 80]

    private static func isLoopbackIPv4(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension HTTPRequest {
    /// A request for a whole address. Nil when it has no host, or a scheme other than http and https.
    init?(method: Method, url: URL, headerFields: HTTPFields) {
        guard let origin = Origin(url), let parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            return nil
        }
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        self.init(
            method: method, scheme: origin.scheme, authority: origin.authority,
            path: parts.percentEncodedQuery.map { "\(path)?\($0)" } ?? path, headerFields: headerFields)
    }
}
