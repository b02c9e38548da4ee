// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import OptimistLoading
import OptimistSession

/// One download, which may break off and go on where it was. Decides what is asked for, and what an answer means.
///
/// > Source: RFC 9110, sections 13 (conditional requests) and 14 (ranges).
struct Download {
    enum Head: Equatable {
        /// The value from before the download is still right.
        case unchanged
        /// The bytes that follow are those that are missing.
        case bytes
        /// The bytes so far are of no use: ask again, from the beginning.
        case useless
    }

    private let former: Validity?
    private let limitBytes: Int
    /// The head of the first answer, updated by those that brought the rest. Nil: no answer has brought anything.
    private(set) var head: HTTPResponse?
    /// Whether none of the answers forbids to keep it.
    private(set) var mayBeStored = true
    private(set) var bytes: [UInt8] = []
    /// How many there will be. Nil: the server does not say.
    private var total: Int?
    /// Names exactly these bytes, so that the rest can be asked for. Nil: it cannot.
    private var validator: String?

    init(former: Validity?, limitBytes: Int) {
        self.former = former
        self.limitBytes = limitBytes
    }

    /// What the next request asks for, beside the resource itself.
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

    /// Whether the rest of a download that has broken off can be asked for.
    var canGoOn: Bool { bytes.isEmpty || validator != nil }

    /// How much of it has come. Nil: unknown.
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
            // The length differs for a body that is unpacked on the way.
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

    /// The bytes so far are let go.
    mutating func startAgain() -> Head {
        (bytes, total, validator, head, mayBeStored) = ([], nil, nil, nil, true)
        return .useless
    }

    /// > Source: RFC 9111, sections 3.2 and 3.4: of each field the latest counts. But what one answer forbids to keep,
    /// > no later one allows.
    private mutating func take(_ latest: HTTPResponse) {
        var combined = head ?? latest
        for name in Set(latest.headerFields.map(\.name)) where name != .contentRange && name != .contentLength {
            combined.headerFields[fields: name] = latest.headerFields[fields: name]
        }
        head = combined
        mayBeStored = mayBeStored && CacheControl(latest).mayBeStored
    }

    /// A weak tag may stand for other bytes, and what is unpacked or changed on the way has other places than the server's.
    private static func validator(of head: HTTPResponse) -> String? {
        guard isAsSent(head), head.status != .nonAuthoritativeInformation else { return nil }
        if head.headerFields[.acceptRanges]?.lowercased() == "none" { return nil }
        return head.headerFields[.eTag].flatMap { $0.hasPrefix("W/") ? nil : $0 }
    }

    /// Whether the bytes that come are those that the server counts.
    private static func isAsSent(_ head: HTTPResponse) -> Bool {
        let encoding = head.headerFields[.contentEncoding]?.lowercased()
        return encoding == nil || encoding == "identity"
    }

    /// Whether a success that answers a request for the rest is the whole. One that names a part is what something on the way
    /// has made of the rest.
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

    /// A number of digits alone: `Int` would also take a sign.
    private static func number(_ text: some StringProtocol) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }
}
