// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// A libpq connection URL, or a string of keywords and values, parsed to find its passwords.
///
/// > Source: PostgreSQL, "libpq", "Connection Strings".
struct DatabaseURL {
    private let text: String
    /// The scheme with `://`. Empty for a string of keywords.
    private let scheme: Substring
    private let authority: Substring
    /// The parameters, with the question mark.
    private let query: Substring

    init(_ text: String) {
        self.text = text
        let start = text.firstRange(of: "://").map(\.upperBound) ?? text.startIndex
        scheme = text[..<start]
        let mark = text[start...].firstIndex(of: "?") ?? text.endIndex
        let end = Self.isPassword(text[start..<mark], text[mark...]) ? text[mark...].endOfPassword : mark
        authority = text[start..<end]
        query = text[end...]
    }

    private static func isPassword(_ head: Substring, _ rest: Substring) -> Bool {
        guard !head.contains("@"), head.contains(":"), let at = rest.firstIndex(of: "@") else { return false }
        let isHosts = head.wholeMatch(of: /(\[[^\]]*\]|[^:]*)(:[0-9]*)?(,(\[[^\]]*\]|[^:]*)(:[0-9]*)?)*(\/.*)?/) != nil
        return !isHosts || !rest[..<at].contains("=")
    }

    var place: String {
        if scheme.isEmpty { return hidingKeywords }
        return String(scheme) + hidingPassword + hidingParameters
    }

    /// Whether the user or the password has a character that ends it for libpq. libpq would connect elsewhere, and
    /// quote a part of the password in its error.
    var hasBareCharacters: Bool {
        guard !scheme.isEmpty, let at = authority.lastIndex(of: "@") else { return false }
        return authority[..<at].contains { $0 == "@" || $0 == "/" || $0 == "?" }
    }

    private var hidingPassword: String {
        guard let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") else {
            return String(authority)
        }
        return String(authority[..<colon] + authority[at...])
    }

    private var hidingParameters: String {
        guard query.first == "?" else { return String(query) }
        let parameters = query.dropFirst().split(separator: "&", omittingEmptySubsequences: false).map { parameter in
            let name = parameter.prefix { $0 != "=" }
            let known = String(name).removingPercentEncoding ?? "password"
            return known.lowercased().contains("password") ? "\(name)=…" : String(parameter)
        }
        return "?" + parameters.joined(separator: "&")
    }

    private var hidingKeywords: String {
        text.replacing(/(?i)(password\s*=\s*)('(?:[^'\\]|\\.)*'?|\S*)/) { "\($0.1)…" }
    }
}

extension Substring {
    fileprivate var endOfPassword: Index { lastIndex(of: "@").flatMap { self[$0...].firstIndex(of: "?") } ?? endIndex }
}
