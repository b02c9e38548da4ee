// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
package import HTTPTypes

/// Scheme, host and port: the scope of a credential. The scheme is http or https.
package struct Origin: Equatable, Sendable, CustomStringConvertible {
    let scheme: String
    let host: String
    let port: Int

    /// Returns nil unless the scheme is http or https and the port is valid. Other schemes may access this machine:
    /// `http+unix` names a socket in its file system.
    package init?(_ url: URL) {
        guard let scheme = url.scheme?.lowercased(), let defaultPort = Self.defaultPorts[scheme],
            let host = url.host()?.lowercased(), !host.isEmpty
        else { return nil }
        let port = url.port ?? defaultPort
        guard 1...65535 ~= port else { return nil }
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// Host and port as in a `Host` field.
    var authority: String {
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return port == Self.defaultPorts[scheme] ? name : "\(name):\(port)"
    }

    package var description: String { "\(scheme)://\(authority)" }

    /// Whether traffic is encrypted or stays on this machine.
    var isPrivate: Bool {
        scheme == "https" || host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || host == "[::1]"
            || Self.isLoopbackIPv4(host)
    }

    /// Whether the host is in the device's local network: a private or link-local address, or a name ending in
    /// `.local`, which devices assign themselves.
    ///
    /// > Source: RFC 1918, section 3; RFC 3927, section 2.1; RFC 4193, section 3.1; RFC 4291, section 2.5.6; RFC 6762,
    /// > section 3.
    var isInLocalNetwork: Bool {
        if host.contains(":") {
            let first = host.drop { $0 == "[" }.prefix { $0 != ":" }
            return UInt16(first, radix: 16).map { 0xFC00...0xFDFF ~= $0 || 0xFE80...0xFEBF ~= $0 } ?? false
        }
        guard let address = Self.ipv4(host) else { return host.hasSuffix(".local") }
        switch (address[0], address[1]) {
        case (10, _), (172, 16...31), (192, 168), (169, 254): return true
        default: return false
        }
    }

    private static let defaultPorts = ["https": 443, "http": 80]

    private static func isLoopbackIPv4(_ host: String) -> Bool { ipv4(host)?[0] == 127 }

    /// The four numbers of an address. Leading zeros are not accepted, because some parsers read them as octal.
    private static func ipv4(_ host: String) -> [UInt8]? {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in UInt8(part).flatMap { String($0) == part ? $0 : nil } }
        return parts.count == 4 && numbers.count == 4 ? numbers : nil
    }
}

extension HTTPRequest {
    /// Makes a request for an absolute URL. Nil if it has no host, a scheme other than http and https, or an invalid
    /// port.
    package init?(method: Method, url: URL, headerFields: HTTPFields) {
        guard let origin = Origin(url), let parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            return nil
        }
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        self.init(
            method: method, scheme: origin.scheme, authority: origin.authority,
            path: parts.percentEncodedQuery.map { "\(path)?\($0)" } ?? path, headerFields: headerFields)
    }
}
