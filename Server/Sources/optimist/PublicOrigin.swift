// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// An origin: a scheme, a host and an optional port, without a path.
enum PublicOrigin {
    static func isValid(_ text: String) -> Bool {
        guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty,
            ["https", "http"].contains(parts.scheme)
        else { return false }
        return text == "\(parts.scheme ?? "")://\(parts.encodedHost ?? "")\(parts.port.map { ":\($0)" } ?? "")"
    }
}
