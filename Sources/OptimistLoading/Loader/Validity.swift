// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// How long a value is right, and how its source can confirm that it still is.
public struct Validity: Sendable, Equatable {
    /// Until when the value is right. Nil: for ever. A date that is not a number counts as expired.
    public var expiresAt: Date?
    /// The version of the value, by the source's `ETag`.
    ///
    /// > Source: RFC 9110, section 8.8.3.
    public var etag: String?
    /// When the value last changed, by the source's `Last-Modified`, as it sent it.
    ///
    /// > Source: RFC 9110, section 8.8.2.
    public var lastModified: String?
    /// How long the value was right when it came, for an answer that confirms it without saying how long. Nil: unknown.
    public var lifetime: Duration?

    /// Makes a validity. By default the value is right for ever.
    public init(
        expiresAt: Date? = nil, etag: String? = nil, lastModified: String? = nil, lifetime: Duration? = nil
    ) {
        self.expiresAt = expiresAt
        self.etag = etag
        self.lastModified = lastModified
        self.lifetime = lifetime
    }

    /// Whether both are of the same bytes, as far as the source tells.
    func isOfSameVersion(as other: Self?) -> Bool { etag == other?.etag && lastModified == other?.lastModified }

    /// The same for a value that is here already: a tag, date or lifetime that this leaves out stays as it was.
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
