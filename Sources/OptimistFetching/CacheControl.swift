// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistLoading
import OptimistSession

/// How long a response stays fresh, by its own headers.
///
/// > Source: RFC 9111, sections 4.2, 4.3.4 and 5.2.2. This is a private cache, so directives for shared caches are
/// > ignored.
struct CacheControl {
    private let directives: [String: String]
    private let head: HTTPResponse

    init(_ head: HTTPResponse) {
        self.head = head
        let parts = head.headerFields[.cacheControl]?.split(separator: ",") ?? []
        directives = Dictionary(
            parts.map { part in
                let pair = part.split(separator: "=", maxSplits: 1).map {
                    $0.trimmingCharacters(in: CharacterSet(charactersIn: " \t\""))
                }
                return (pair.first?.lowercased() ?? "", pair.count > 1 ? pair[1] : "")
            }, uniquingKeysWith: { first, _ in first })
    }

    var mayBeStored: Bool { directives["no-store"] == nil }

    /// - Parameters:
    ///   - now: When the response arrived.
    ///   - former: The lifetime of the value that this response confirms, used if the response does not state one. Nil
    ///     if unknown, or if the response does not confirm a value.
    func validity(at now: Date, former: Duration? = nil) -> Validity {
        let lifetime = saysLifetime ? lifetime(at: now) : former.map { $0 / .seconds(1) } ?? lifetime(at: now)
        return Validity(
            expiresAt: now + max(lifetime - age, 0), etag: head.headerFields[.eTag],
            lastModified: head.headerFields[.lastModified], lifetime: .seconds(lifetime))
    }

    private var saysLifetime: Bool {
        head.headerFields[.cacheControl] != nil || head.headerFields[.expires] != nil || isForThisRequestOnly
    }

    /// > Source: RFC 9110, section 12.5.5: with `*`, no other request is known to get the same response.
    private var isForThisRequestOnly: Bool {
        head.headerFields[.vary]?.split(separator: ",").contains {
            $0.trimmingCharacters(in: CharacterSet(charactersIn: " \t")) == "*"
        } ?? false
    }

    /// The freshness lifetime in seconds, counted from when the origin server sent the response.
    private func lifetime(at now: Date) -> TimeInterval {
        if directives["no-store"] != nil || directives["no-cache"] != nil || isForThisRequestOnly { return 0 }
        if let text = directives["max-age"] { return Self.seconds(text) }
        let date = head.headerFields[.date].flatMap { HTTPDate.parse($0) } ?? now
        if let text = head.headerFields[.expires] { return HTTPDate.parse(text)?.timeIntervalSince(date) ?? 0 }
        // Heuristic: a value that has not changed for a long time is unlikely to change soon.
        guard let changed = head.headerFields[.lastModified].flatMap({ HTTPDate.parse($0) }) else { return 0 }
        return min(max(date.timeIntervalSince(changed) / 10, 0), Self.longestGuess)
    }

    private static let longestGuess: TimeInterval = 86_400

    /// How many seconds the response has spent in caches on the way.
    private var age: TimeInterval { head.headerFields[.age].map(Self.seconds) ?? 0 }

    /// > Source: RFC 9111, section 1.2.2, delta-seconds: digits only, capped at 2³¹. Any other text counts as zero.
    private static func seconds(_ text: String) -> TimeInterval {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return 0 }
        return TimeInterval(min(Int(text) ?? .max, 1 << 31))
    }
}
