// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// The bytes that a ``DiskCache`` keeps under a key, and how long their source said that they are good.
@_spi(Internals) public struct DiskEntry: Sendable, Equatable {
    /// The value as the source sent it.
    public var bytes: [UInt8]
    /// When the source last sent or confirmed these bytes.
    public var storedAt: Date
    /// Until when the bytes need no revalidation. Nil: the source did not say. A date that is not a number counts as
    /// expired. The cache returns expired entries too: the caller decides whether they are good enough.
    public var expiresAt: Date?
    /// The source's `ETag`, for the next `If-None-Match`. Nil if it sent none.
    public var etag: String?
    /// The source's `Last-Modified`, for the next `If-Modified-Since`. Nil if it sent none.
    public var lastModified: String?

    /// Makes an entry. By default the source said nothing of how long it is good.
    public init(
        bytes: [UInt8], storedAt: Date, expiresAt: Date? = nil, etag: String? = nil, lastModified: String? = nil
    ) {
        self.bytes = bytes
        self.storedAt = storedAt
        self.expiresAt = expiresAt
        self.etag = etag
        self.lastModified = lastModified
    }
}

extension DiskEntry {
    /// What the source said of it.
    var validity: Validity {
        // What is left of the lifetime when it is stored is at most that.
        let seconds = expiresAt.map { min(max($0.timeIntervalSince(storedAt), 0), 1e9) }
        return Validity(
            expiresAt: expiresAt, etag: etag, lastModified: lastModified, lifetime: seconds.map { .seconds($0) })
    }
}

@_spi(Internals) extension DiskEntry: CustomStringConvertible {
    /// Leaves the bytes out: they may be what people wrote, and descriptions end up in logs.
    public var description: String { "\(bytes.count) bytes stored at \(storedAt)" }
}
