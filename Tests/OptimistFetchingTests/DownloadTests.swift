// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import OptimistCore
import OptimistLoading
import OptimistSession
import Testing

@testable import OptimistFetching

/// A download's requests and answers, without a session or a server.
@Suite(.timeLimit(.minutes(20)))
struct DownloadTests {
    private static let former = Validity(etag: "\"old\"", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT")
    private static let tagged: HTTPFields = [.contentLength: "10", .eTag: "\"a\""]

    private static func head(_ status: HTTPResponse.Status, _ fields: HTTPFields = [:]) -> HTTPResponse {
        HTTPResponse(status: status, headerFields: fields)
    }

    private static func rest(_ range: String, _ fields: HTTPFields = [:]) -> HTTPResponse {
        var fields = fields
        fields[.contentRange] = range
        return head(.partialContent, fields)
    }

    /// A download that was interrupted after four of ten bytes.
    private static func broken(_ fields: HTTPFields = tagged, former: Validity? = nil) throws -> Download {
        var download = Download(former: former, limitBytes: 100)
        #expect(try download.begin(head(.ok, fields)) == .bytes)
        try download.append([0, 1, 2, 3])
        return download
    }

    // MARK: - Requests

    @Test func `C7 a download names its earlier tag and date until the first bytes arrive`() throws {
        let fields = Download(former: Self.former, limitBytes: 100).fields
        #expect(fields == [.ifNoneMatch: "\"old\"", .ifModifiedSince: "Sun, 06 Nov 1994 08:49:37 GMT"])
        #expect(Download(former: nil, limitBytes: 100).fields.isEmpty)
        #expect(Download(former: Validity(), limitBytes: 100).fields.isEmpty)
        let broken = try Self.broken(former: Self.former)
        #expect(broken.fields == [.range: "bytes=4-", .ifRange: "\"a\""])
        #expect(broken.canGoOn)
    }

    @Test(
        arguments: [
            [.contentLength: "10"], [.eTag: "W/\"a\""], [.eTag: "\"a\"", .acceptRanges: "none"],
            [.eTag: "\"a\"", .acceptRanges: "None"], [.eTag: "\"a\"", .contentEncoding: "gzip"],
            [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"],
        ] as [HTTPFields])
    func `a download resumes only if the server gave a strong tag for its bytes`(fields: HTTPFields) throws {
        let broken = try Self.broken(fields)
        #expect(!broken.canGoOn)
        #expect(broken.fields.isEmpty)
    }

    // MARK: - Answers

    @Test func `C7 a 304 counts only for a request that asked about an earlier value`() throws {
        var download = Download(former: Self.former, limitBytes: 100)
        #expect(try download.begin(Self.head(.notModified, [.eTag: "\"old\""])) == .unchanged)
        #expect(download.head?.headerFields[.eTag] == "\"old\"")
        var first = Download(former: nil, limitBytes: 100)
        #expect(throws: HTTPStatusError(status: .notModified)) { try first.begin(Self.head(.notModified)) }
        var broken = try Self.broken(former: Self.former)
        #expect(throws: HTTPStatusError(status: .notModified)) { try broken.begin(Self.head(.notModified)) }
    }

    @Test(arguments: ["bytes 4-9/10", "bytes 4-9/*", "bytes 4-6/10"])
    func `the second part follows the first`(range: String) throws {
        var download = try Self.broken()
        #expect(try download.begin(Self.rest(range, [.eTag: "\"a\""])) == .bytes)
        try download.append([4, 5, 6])
        #expect(!download.isWhole)
        try download.append([7, 8, 9])
        #expect(download.isWhole)
        #expect(download.bytes == Array(0...9))
        #expect(download.progress == 1)
    }

    @Test(arguments: [
        // Other bytes, or bytes of another file.
        "bytes 3-9/10", "bytes 5-9/10", "bytes 0-9/10", "bytes 4-9/11",
        // Malformed ranges.
        "", "4-9/10", "bytes", "bytes ", "bytes 4", "bytes 4/10", "bytes 4-/10", "bytes -4/10", "bytes -4-9/10",
        "bytes +4-9/10", "bytes 4-3/10", "bytes 4-10/10", "bytes 4-9/10/10", "bytes 4-9/", "bytes */10", "items 4-9/10",
        "bytes 4-99999999999999999999/10", "bytes 4-9/x",
    ])
    func `C6 a part that was not requested ends the attempt, and the download restarts`(
        range: String
    ) throws {
        var download = try Self.broken(former: Self.former)
        #expect(try download.begin(Self.rest(range)) == .useless)
        #expect(download.bytes.isEmpty)
        #expect(download.head == nil)
        #expect(download.fields[.range] == nil)
        #expect(download.fields[.ifNoneMatch] == "\"old\"", "the download restarts, and asks about the stored value")
    }

    @Test func `C6 a part with another tag, or a refused range, restarts the download`()
        throws
    {
        var other = try Self.broken()
        #expect(try other.begin(Self.rest("bytes 4-9/10", [.eTag: "\"b\""])) == .useless)
        var beyond = try Self.broken()
        #expect(try beyond.begin(Self.head(.rangeNotSatisfiable)) == .useless)
        #expect(beyond.bytes.isEmpty && beyond.canGoOn)
    }

    @Test(arguments: ["bytes 4-9/10", "bytes 0-5/10", "bytes 4-9/*", "bytes 0-9/*", "nonsense", "bytes */10"])
    func `C6 a 200 with a partial range restarts an interrupted download`(
        range: String
    ) throws {
        var download = try Self.broken()
        #expect(try download.begin(Self.head(.ok, [.contentRange: range, .eTag: "\"a\""])) == .useless)
        #expect(download.bytes.isEmpty && download.fields[.range] == nil)
        #expect(try download.begin(Self.head(.ok, [.contentRange: range])) == .bytes, "the range has no meaning here")
        var whole = try Self.broken()
        #expect(try whole.begin(Self.head(.ok, [.contentRange: "bytes 0-9/10"])) == .bytes)
    }

    @Test func `a 203 is a success, but an interrupted one is not resumed`() throws {
        var download = Download(former: nil, limitBytes: 100)
        #expect(try download.begin(Self.head(.nonAuthoritativeInformation, Self.tagged)) == .bytes)
        try download.append([0, 1, 2, 3])
        #expect(!download.canGoOn, "a proxy that changed the first part may not change the rest")
    }

    @Test func `a complete answer replaces the earlier bytes`() throws {
        var download = try Self.broken()
        #expect(try download.begin(Self.head(.ok, [.contentLength: "2", .eTag: "\"b\""])) == .bytes)
        try download.append([7, 8])
        #expect(download.bytes == [7, 8])
        #expect(download.isWhole)
        #expect(download.head?.headerFields[.eTag] == "\"b\"")
        #expect(try download.begin(Self.head(.noContent)) == .bytes)
        #expect(download.bytes.isEmpty && download.isWhole)
    }

    @Test(arguments: [200, 203, 204, 206, 301, 304, 400, 404, 410, 416, 500, 503])
    func `an unexpected status is an error with that status`(code: Int) {
        var download = Download(former: nil, limitBytes: 100)
        let status = HTTPResponse.Status(code: code)
        if [200, 203, 204].contains(code) {
            #expect(throws: Never.self) { try download.begin(Self.head(status)) }
        } else {
            #expect(throws: HTTPStatusError(status: status)) { try download.begin(Self.head(status)) }
        }
    }

    // MARK: - Limits and lengths

    @Test func `an answer over the limit is refused by its length, or at the first byte beyond`() throws {
        var download = Download(former: nil, limitBytes: 10)
        let said = #expect(throws: TransportError.self) { try download.begin(Self.head(.ok, [.contentLength: "11"])) }
        #expect(said?.kind == .tooLarge)
        #expect(try download.begin(Self.head(.ok)) == .bytes)
        try download.append(Array(repeating: 1, count: 10))
        try download.append([])
        let came = #expect(throws: TransportError.self) { try download.append([1]) }
        #expect(came?.kind == .tooLarge)
        #expect(download.bytes.count == 10)
    }

    @Test(
        arguments: [
            ([.contentLength: "8"], 0.5), ([:], nil), ([.contentLength: "8", .contentEncoding: "gzip"], nil),
            ([.contentLength: "8", .contentEncoding: "identity"], 0.5), ([.contentLength: "x"], nil),
            ([.contentLength: "99999999999999999999"], nil), ([.contentLength: "-8"], nil),
            ([.contentLength: "0"], nil),
        ] as [(HTTPFields, Double?)])
    func `progress is known if the server sends a length`(fields: HTTPFields, progress: Double?)
        throws
    {
        let download = try Self.broken(fields)
        #expect(download.progress == progress)
    }

    @Test func `a body shorter than its length is incomplete, and without a length any body is complete`() throws {
        #expect(try !Self.broken().isWhole)
        #expect(try Self.broken([:]).isWhole)
        #expect(try Self.broken([.contentLength: "-4"]).isWhole, "-4 is not a length")
        #expect(try Self.broken([.contentLength: "3", .contentEncoding: "gzip"]).isWhole)
    }

    @Test func `C7 the latest answer sets each field, but cannot undo an earlier no-store`() throws {
        var fields = Self.tagged
        fields[.cacheControl] = "no-store"
        var download = try Self.broken(fields)
        let later: HTTPFields = [.cacheControl: "max-age=60", .contentLength: "6", .age: "5"]
        #expect(try download.begin(Self.rest("bytes 4-9/10", later)) == .bytes)
        #expect(download.head?.headerFields[.cacheControl] == "max-age=60")
        #expect(download.head?.headerFields[.age] == "5")
        #expect(download.head?.headerFields[.contentLength] == "10", "the length is that of the complete body")
        #expect(download.head?.headerFields[.contentRange] == nil)
        #expect(download.head?.status == .ok)
        #expect(!download.mayBeStored)
        _ = download.startAgain()
        #expect(download.mayBeStored)
    }

    // MARK: - Laws

    @Test(arguments: 1...200)
    func `C6 wherever a download is interrupted, its bytes are of one version`(
        seed: UInt64
    ) throws {
        var random = SplitMix64(seed: seed)
        var version: UInt8 = 1
        var size = Int.random(in: 1...50, using: &random)
        var download = Download(former: nil, limitBytes: 100)
        for attempt in 1... {
            try #require(attempt < 200, "the download never ends")
            if Int.random(in: 0..<5, using: &random) == 0 {
                (version, size) = (version + 1, Int.random(in: 1...50, using: &random))
            }
            let asked = download.fields
            var first = 0
            let tag = "\"\(version)\""
            var head = Self.head(.ok, [.contentLength: "\(size)", .eTag: tag])
            if asked[.range] == "bytes=\(download.bytes.count)-", asked[.ifRange] == tag {
                first = download.bytes.count
                head = Self.rest("bytes \(first)-\(size - 1)/\(size)", [.eTag: tag])
                // Sometimes a proxy confuses the answers.
                if Int.random(in: 0..<4, using: &random) == 0 {
                    first = Int.random(in: 0..<size, using: &random)
                    head = Self.rest(
                        "bytes \(first)-\(size - 1)/\(size)", [.eTag: Bool.random(using: &random) ? tag : "\"x\""])
                }
            }
            guard try download.begin(head) == .bytes else { continue }
            // Each byte encodes its version and position.
            let body = (first..<size).map { version &* 50 &+ UInt8($0) }
            try download.append(Array(body.prefix(Int.random(in: 0...body.count, using: &random))))
            guard download.isWhole else { continue }
            let whole = try #require(download.head?.headerFields[.eTag].flatMap { UInt8($0.dropFirst().dropLast()) })
            #expect(whole == version)
            #expect(download.bytes == (0..<size).map { version &* 50 &+ UInt8($0) })
            break
        }
    }
}
