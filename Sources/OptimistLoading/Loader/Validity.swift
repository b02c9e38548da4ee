// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// How long a value is valid, and how its source can confirm it.
public struct Validity: Sendable, Equatable {
    /// The expiry date. Nil: never. A date that is not a number counts as expired.
    public var expiresAt: Date?
    /// The version of the value: the source's `ETag`.
    ///
    /// > Source: RFC 9110, section 8.8.3.
    public var etag: String?
    /// When the value last changed: the source's `Last-Modified`, verbatim.
    ///
    /// > Source: RFC 9110, section 8.8.2.
    public var lastModified: String?
    /// The value's original lifetime, reused if a response confirms the value but states no lifetime. Nil: unknown.
    public var lifetime: Duration?

    /// Creates a validity. By default, the value never expires.
    public init(
        expiresAt: Date? = nil, etag: String? = nil, lastModified: String? = nil, lifetime: Duration? = nil
    ) {
        self.expiresAt = expiresAt
        self.etag = etag
        self.lastModified = lastModified
        self.lifetime = lifetime
    }

    func isOfSameVersion(as other: Self?) -> Bool { etag == other?.etag && lastModified == other?.lastModified }

    /// The validity of a cached value after this one has confirmed it: a missing tag, date or lifetime stays as it was.
    ///
    /// > Source: RFC 9111, section 3.2.
    @usableFromInline
    package func confirming(_ former: Self?) -> Self {
        var confirming = self
        confirming.etag = etag ?? former?.etag
        confirming.lastModified = lastModified ?? former?.lastModified
        confirming.lifetime = lifetime ?? former?.lifetime
        return confirming
    }
}
