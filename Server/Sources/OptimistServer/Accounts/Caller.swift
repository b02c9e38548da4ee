// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// Who sends a request about accounts: for the limits on attempts, and for the security log.
struct Caller: Hashable, Sendable {
    /// The address that the server saw, or that its proxy saw.
    var address: String
    /// What the request is called in the answer and in the log.
    var requestID: String?

    /// What the limits on attempts count by: an IPv4 address, or the network of an IPv6 address.
    ///
    /// One person is given a whole /64, and could otherwise attempt as often as there are addresses in it. An IPv4
    /// address that is written as an IPv6 one counts as itself.
    ///
    /// > Source: RFC 6177 §2, RFC 4291 §2.5.5.2.
    var throttleKey: String {
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
