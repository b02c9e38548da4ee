// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// An email address in normalized form: Unicode normal form C, with a non-ASCII domain as `xn--…`. The stores compare
/// it without regard to the case of ASCII letters.
///
/// > Source: RFC 5321 §4.5.3.1, RFC 6532 §3.1, RFC 5891 §4.
package struct EmailAddress: Hashable, Sendable {
    package let text: String

    /// Parses an address. Surrounding white space is ignored.
    ///
    /// Nil if the text is not two parts around one `@`, contains white space or invisible characters, is longer than
    /// 254 bytes, or has a domain without an ASCII form.
    package init?(_ text: String) {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines).precomposedStringWithCanonicalMapping
        let scalars = trimmed.unicodeScalars
        guard !scalars.contains(where: { !$0.isVisible || $0.properties.isWhitespace }) else { return nil }
        let parts = scalars.split(separator: "@", omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 2, !parts[0].isEmpty, let domain = Self.domain(parts[1]) else { return nil }
        self.text = "\(parts[0])@\(domain)"
        guard self.text.utf8.count <= 254 else { return nil }
    }

    /// - Throws: ``AuthRefusal`` with the reason `invalid_email`, also for the address of an account without one.
    init(entered text: String) throws(AuthRefusal) {
        guard let address = EmailAddress(text), !Self.isPlaceholder(address.text) else {
            throw .invalidRequest("This is not an email address.", reason: "invalid_email")
        }
        self = address
    }

    private static func domain(_ text: String) -> String? {
        if text.isEmpty { return nil }
        if text.utf8.allSatisfy({ $0 < 128 }) { return text }
        var parts = URLComponents()
        parts.host = text
        guard let domain = parts.encodedHost, !domain.isEmpty, domain.utf8.allSatisfy({ $0 < 128 }),
            !domain.utf8.contains(UInt8(ascii: "%"))
        else { return nil }
        return domain.lowercased()
    }
}
