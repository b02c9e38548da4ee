// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import OptimistLoading
import OptimistSession

/// One download, which may be interrupted and resumed. Decides what to request and how to treat each response.
///
/// > Source: RFC 9110, sections 13 (conditional requests) and 14 (ranges).
struct Download {
    enum Head: Equatable {
        /// The previous value is still valid.
        case unchanged
        /// The body holds the missing bytes.
        case bytes
        /// The bytes that were already received cannot be used: request the resource from the beginning.
        case useless
    }

    private let former: Validity?
    private let limitBytes: Int
    /// The head of the first response, updated by the responses that brought the rest. Nil before the first response.
    private(set) var head: HTTPResponse?
    /// False once any response forbids storing.
    private(set) var mayBeStored = true
    private(set) var bytes: [UInt8] = []
    /// The length of the resource. Nil if the server does not state it.
    private var total: Int?
    /// A strong `ETag` of exactly these bytes, needed to request the rest. Nil if the rest cannot be requested.
    private var validator: String?

    init(former: Validity?, limitBytes: Int) {
        self.former = former
        self.limitBytes = limitBytes
    }

    var fields: HTTPFields {
        var fields = HTTPFields()
        if bytes.isEmpty {
            if let etag = former?.etag { fields[.ifNoneMatch] = etag }
            if let date = former?.lastModified { fields[.ifModifiedSince] = date }
        } else if let validator {
            fields[.range] = "bytes=\(bytes.count)-"
            fields[.ifRange] = validator
        }
        return fields
    }

    var canGoOn: Bool { bytes.isEmpty || validator != nil }

    /// The fraction received so far. Nil if unknown.
    var progress: Double? { total.flatMap { $0 > 0 ? Double(bytes.count) / Double($0) : nil } }

    var isWhole: Bool { total.map { bytes.count == $0 } ?? true }

    mutating func begin(_ head: HTTPResponse) throws -> Head {
        switch head.status {
        case .notModified where former != nil && bytes.isEmpty:
            take(head)
            return .unchanged
        case .partialContent where !bytes.isEmpty:
            guard let range = Self.range(head), range.places.lowerBound == bytes.count, fits(range.total),
                head.headerFields[.eTag].map({ $0 == validator }) ?? true
            else { return startAgain() }
            total = total ?? range.total
            take(head)
            return .bytes
        case .rangeNotSatisfiable where !bytes.isEmpty: return startAgain()
        case .ok where !bytes.isEmpty && !Self.mayBeWhole(head): return startAgain()
        case .ok, .nonAuthoritativeInformation, .noContent:
            _ = startAgain()
            take(head)
            // For a body that is decompressed on the way, the length differs.
            total = Self.isAsSent(head) ? head.headerFields[.contentLength].flatMap(Self.number) : nil
            validator = Self.validator(of: head)
            if let total, total > limitBytes { throw TransportError(.tooLarge, .responseStarted) }
            return .bytes
        default: throw HTTPStatusError(status: head.status)
        }
    }

    mutating func append(_ chunk: [UInt8]) throws {
        guard chunk.count <= limitBytes - bytes.count else { throw TransportError(.tooLarge, .responseStarted) }
        if bytes.isEmpty { bytes.reserveCapacity(min(total ?? chunk.count, limitBytes)) }
        bytes += chunk
    }

    private func fits(_ announced: Int?) -> Bool { total == nil || announced == nil || total == announced }

    mutating func startAgain() -> Head {
        (bytes, total, validator, head, mayBeStored) = ([], nil, nil, nil, true)
        return .useless
    }

    /// > Source: RFC 9111, sections 3.2 and 3.4: for each field the latest response counts. But if one response forbids
    /// > storing, a later one cannot allow it.
    private mutating func take(_ latest: HTTPResponse) {
        var combined = head ?? latest
        for name in Set(latest.headerFields.map(\.name)) where name != .contentRange && name != .contentLength {
            combined.headerFields[fields: name] = latest.headerFields[fields: name]
        }
        head = combined
        mayBeStored = mayBeStored && CacheControl(latest).mayBeStored
    }

    /// A weak tag may match different bytes. The offsets in a body that was decompressed or transformed on the way are
    /// not the server's.
    private static func validator(of head: HTTPResponse) -> String? {
        guard isAsSent(head), head.status != .nonAuthoritativeInformation else { return nil }
        if head.headerFields[.acceptRanges]?.lowercased() == "none" { return nil }
        return head.headerFields[.eTag].flatMap { $0.hasPrefix("W/") ? nil : $0 }
    }

    /// Whether the body is not encoded, so that the server counts the same bytes as this client.
    private static func isAsSent(_ head: HTTPResponse) -> Bool {
        let encoding = head.headerFields[.contentEncoding]?.lowercased()
        return encoding == nil || encoding == "identity"
    }

    /// Whether a 200 response to a range request is the complete resource. If it has a `Content-Range` that names only
    /// a part, an intermediary has changed a partial response.
    private static func mayBeWhole(_ head: HTTPResponse) -> Bool {
        if head.headerFields[.contentRange] == nil { return true }
        return range(head).map { $0.places.lowerBound == 0 && $0.places.upperBound + 1 == $0.total } ?? false
    }

    /// > Source: RFC 9110, section 14.4. A malformed range counts as none.
    private static func range(_ head: HTTPResponse) -> (places: ClosedRange<Int>, total: Int?)? {
        guard let text = head.headerFields[.contentRange], text.hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst("bytes ".count).split(separator: "/", omittingEmptySubsequences: false)
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, ends.count == 2, let first = number(ends[0]), let last = number(ends[1]), first <= last
        else { return nil }
        let total = number(parts[1])
        return parts[1] == "*" || total.map { last < $0 } == true ? (first...last, total) : nil
    }

    /// Parses digits only: `Int` would also accept a sign.
    private static func number(_ text: some StringProtocol) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }
}
