// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// How long a value is right, and how its source is asked whether it still is.
public struct Validity: Sendable, Equatable {
    /// Nil: for ever. A date that is none has passed.
    public var expiresAt: Date?
    /// > Source: RFC 9110, section 8.8.3.
    public var etag: String?
    /// > Source: RFC 9110, section 8.8.2.
    public var lastModified: String?
    /// How long the source gave it when it came, for an answer that confirms it and says nothing of that. Nil: unknown.
    public var lifetime: Duration?

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

    /// The same, said of a value that is here already: what it says nothing of stays as the former one had it, tag,
    /// date and lifetime.
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
