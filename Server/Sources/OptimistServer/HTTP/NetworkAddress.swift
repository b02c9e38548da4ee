// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

enum NetworkAddress {
    /// Returns an address of `X-Forwarded-For` without its port, in the system's notation. Some proxies add a port,
    /// which differs from connection to connection, or brackets around an IPv6 address.
    ///
    /// > Source: RFC 7239 §6, RFC 3986 §3.2.2.
    static func text(of entry: some StringProtocol) -> String? {
        let text = entry.trimmingCharacters(in: .whitespaces)
        if text.hasPrefix("[") {
            let parts = text.dropFirst().split(separator: "]", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[1].isEmpty || isPort(parts[1]) else { return nil }
            return canonical(String(parts[0].prefix { $0 != "%" }), AF_INET6)
        }
        if let address = canonical(String(text.prefix { $0 != "%" }), AF_INET6) { return address }
        let host = text.prefix { $0 != ":" }
        guard host.endIndex == text.endIndex || isPort(text[host.endIndex...]) else { return nil }
        return canonical(String(host), AF_INET)
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.first == ":" && UInt16(text.dropFirst()) != nil
    }

    private static func canonical(_ text: String, _ family: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard !text.utf8.contains(0), inet_pton(family, text, &bytes) == 1 else { return nil }
        var written = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(family, bytes, &written, socklen_t(written.count)) != nil else { return nil }
        return String(decoding: written.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
