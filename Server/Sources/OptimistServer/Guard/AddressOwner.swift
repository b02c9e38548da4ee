// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import NIOCore

enum AddressOwner {
    /// Returns an IPv4 address, or the network of an IPv6 address. Any other text is returned unchanged.
    ///
    /// Providers assign a /64 to each customer, who could otherwise use any number of addresses in it. An IPv4-mapped
    /// IPv6 address counts as the IPv4 address.
    ///
    /// > Source: RFC 6177 §2, RFC 4291 §2.5.5.2.
    static func name(of address: String) -> String {
        var text = address[...]
        if text.first == "[" { text = text.dropFirst().prefix { $0 != "]" } }
        var parsed = in6_addr()
        guard inet_pton(AF_INET6, String(text.prefix { $0 != "%" }), &parsed) == 1 else { return address }
        let bytes = withUnsafeBytes(of: &parsed) { Array($0) }
        if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) {
            return bytes.dropFirst(12).map(String.init).joined(separator: ".")
        }
        return bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":") + "/64"
    }
}

extension SocketAddress {
    var connectionOwner: String { AddressOwner.name(of: ipAddress ?? "unknown") }
}
