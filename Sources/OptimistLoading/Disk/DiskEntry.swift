// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// An entry of a ``DiskCache``: the bytes, and how long they are valid according to their source.
@_spi(Internals) public struct DiskEntry: Sendable, Equatable {
    /// The value as the source sent it.
    public var bytes: [UInt8]
    /// When the source last sent or confirmed these bytes.
    public var storedAt: Date
    /// When the bytes need revalidation. Nil if the source did not state it. A date that is not a number counts as
    /// expired.
    ///
    /// The cache also returns expired entries. The caller decides whether to use them.
    public var expiresAt: Date?
    /// The source's `ETag`, for the next `If-None-Match`. Nil if it sent none.
    public var etag: String?
    /// The source's `Last-Modified`, for the next `If-Modified-Since`. Nil if it sent none.
    public var lastModified: String?

    /// Creates an entry. By default, its source did not state how long it is valid.
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
    var validity: Validity {
        // The remaining lifetime at the time of storing, which is at most the original lifetime.
        let seconds = expiresAt.map { min(max($0.timeIntervalSince(storedAt), 0), 1e9) }
        return Validity(
            expiresAt: expiresAt, etag: etag, lastModified: lastModified, lifetime: seconds.map { .seconds($0) })
    }
}

@_spi(Internals) extension DiskEntry: CustomStringConvertible {
    /// Omits the bytes: descriptions end up in logs, and the bytes may be private.
    public var description: String { "\(bytes.count) bytes stored at \(storedAt)" }
}
