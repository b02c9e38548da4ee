// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
package import HTTPTypes

/// Scheme, host and port: what a credential may be sent to. The scheme is http or https.
package struct Origin: Equatable, Sendable, CustomStringConvertible {
    let scheme: String
    let host: String
    let port: Int

    /// Nil: the scheme is not http or https, or the port does not exist. Other schemes reach into this machine: `http+unix` names a socket in its files.
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

    /// Host and port as a `Host` field has them.
    var authority: String {
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return port == Self.defaultPorts[scheme] ? name : "\(name):\(port)"
    }

    package var description: String { "\(scheme)://\(authority)" }

    /// Whether no one between can read what is sent there: it is encrypted, or stays on this machine.
    var isPrivate: Bool {
        scheme == "https" || host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || host == "[::1]"
            || Self.isLoopbackIPv4(host)
    }

    /// Whether it can only be in the network that this device is in: a private or link-local address, or a name ending in
    /// `.local`, which the devices of a network give themselves.
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

    /// The four numbers of an address. A number with a leading zero is not accepted: some read it as octal.
    private static func ipv4(_ host: String) -> [UInt8]? {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in UInt8(part).flatMap { String($0) == part ? $0 : nil } }
        return parts.count == 4 && numbers.count == 4 ? numbers : nil
    }
}

extension HTTPRequest {
    /// A request for a whole address. Nil when it has no host, a scheme other than http and https, or a port that does not
    /// exist.
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
