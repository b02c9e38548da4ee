// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// What a ``DiskCache`` keeps under a key: bytes, and what the source said about how long they are good for.
public struct DiskEntry: Sendable, Equatable {
    public var bytes: [UInt8]
    /// When the source last gave or confirmed these bytes.
    public var storedAt: Date
    /// Until when they need no revalidation. Nil: the source did not say. A date that is none has passed. The cache
    /// hands out what has expired, too: whether it is still good enough is the caller's decision.
    public var expiresAt: Date?
    /// The source's `ETag`, for the next `If-None-Match`.
    public var etag: String?
    /// The source's `Last-Modified`, for the next `If-Modified-Since`.
    public var lastModified: String?

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

extension DiskEntry: CustomStringConvertible {
    /// Leaves the bytes out: they may be what people wrote, and descriptions end up in logs.
    public var description: String { "\(bytes.count) bytes stored at \(storedAt)" }
}
