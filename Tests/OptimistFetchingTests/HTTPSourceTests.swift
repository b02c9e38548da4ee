// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistFetching
import OptimistSession
import OptimistTesting
import Testing

@testable import OptimistCore
@_spi(Internals) @testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct HTTPSourceTests {
    /// The server's answers, in turn.
    private typealias Answer = @Sendable (TransportRequest) throws -> TransportResponse

    private static let now = Date(timeIntervalSince1970: 1_790_000_000)

    /// A loader of texts, and its session's transport.
    private func loader(
        answering answers: [Answer], limitBytes: Int = 1_000,
        validity: @escaping @Sendable (HTTPResponse, Validity) -> Validity = { _, validity in validity }
    ) throws -> (Loader<String, String>, InMemoryTransport) {
        let transport = Self.transport(answers)
        let source = HTTPSource(
            try Self.session(transport), limitBytes: limitBytes, validity: validity, now: { Self.now })
        let loader = Loader<String, String>(
            failureTTL: HTTPStatusError.pauseIfMissing, dependencies: Dependencies(now: { Self.now })
        ) { fetch in
            try await source.fetch(fetch, from: "/texts/\(fetch.key)") { String(decoding: $0, as: UTF8.self) }
        }
        return (loader, transport)
    }

    private static func transport(_ answers: [Answer]) -> InMemoryTransport {
        let rest = Mutex(answers[...])
        return InMemoryTransport { request in
            guard let answer = rest.withLock({ $0.popFirst() }) else { return TransportResponse(.internalServerError) }
            return try answer(request)
        }
    }

    private static func session(
        _ transport: InMemoryTransport, dependencies: Dependencies = Dependencies()
    ) throws -> Session {
        let credentials = Credentials(
            accessToken: Secret("access"), refreshToken: Secret("refresh"), expiresAt: nil, lifetime: nil,
            account: Account(id: "a", email: "ada@example.org"), origin: "https://example.org")
        return Session(
            server: try #require(URL(string: "https://example.org")), transport: transport,
            credentials: InMemoryCredentialStore(credentials), reachability: ManualReachability(),
            dependencies: dependencies)
    }

    /// The first part of a text before the connection is lost.
    private static func broken(_ part: String, of length: Int?, _ fields: HTTPFields) -> TransportResponse {
        var fields = fields
        if let length { fields[.contentLength] = "\(length)" }
        let chunks = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield(Array(part.utf8))
            continuation.finish(throwing: TransportError(.broken, .responseStarted))
        }
        return TransportResponse(head: HTTPResponse(status: .ok, headerFields: fields), body: ResponseBody(chunks))
    }

    /// A loader of texts with a disk in a temporary folder.
    private final class Disk: Sendable {
        private let folder = FileManager.default.temporaryDirectory.appending(path: "texts-\(UUID().uuidString)")
        private let cache: DiskCache
        private let tier: DiskTier<String, String>
        let loader: Loader<String, String>

        init(_ source: HTTPSource) {
            cache = DiskCache(at: folder, now: { HTTPSourceTests.now })
            tier = DiskTier(
                cache, name: { $0 }, decode: { String(decoding: $0, as: UTF8.self) }, now: { HTTPSourceTests.now })
            loader = Loader(disk: tier, dependencies: Dependencies(now: { HTTPSourceTests.now })) { fetch in
                try await source.fetch(fetch, from: "/texts/\(fetch.key)") { String(decoding: $0, as: UTF8.self) }
            }
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        /// The disk's entry, after all pending writes.
        func entry() async -> DiskEntry? {
            await tier.settled()
            return cache.entry(for: "a")
        }
    }

    private static func diskLoader(_ transport: InMemoryTransport) throws -> Disk {
        Disk(HTTPSource(try session(transport), now: { Self.now }))
    }

    private static func field(_ name: HTTPField.Name, _ request: TransportRequest) -> String? {
        request.head.headerFields[name]
    }

    @Test func `a value is requested with the session's credential, and not again while it is fresh`()
        async throws
    {
        let (loader, transport) = try loader(answering: [
            { _ in TransportResponse(.ok, "hello", headerFields: [.cacheControl: "private, max-age=60"]) }
        ])
        #expect(try await loader.value(for: "a") == "hello")
        #expect(try await loader.value(for: "a") == "hello")
        let request = try #require(transport.requests.first)
        #expect(transport.requests.count == 1)
        #expect(request.head.path == "/texts/a")
        #expect(Self.field(.authorization, request) == "Bearer access")
    }

    @Test func `C7 an expired value is revalidated by its tag and date`() async throws {
        let fields: HTTPFields = [
            .cacheControl: "max-age=0", .eTag: "\"one\"", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT",
        ]
        let (loader, transport) = try loader(answering: [
            { _ in TransportResponse(.ok, "hello", headerFields: fields) },
            { _ in TransportResponse(.notModified, headerFields: [.cacheControl: "max-age=60"]) },
        ])
        #expect(try await loader.value(for: "a") == "hello")
        #expect(try await loader.value(for: "a") == "hello")
        let second = try #require(transport.requests.last)
        #expect(Self.field(.ifNoneMatch, second) == "\"one\"")
        #expect(Self.field(.ifModifiedSince, second) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(try await loader.value(for: "a") == "hello")
        #expect(transport.requests.count == 2)
        #expect(loader.counts.unchanged == 1)
    }

    @Test(arguments: [10, nil])
    func `an interrupted download continues where it stopped`(length: Int?) async throws {
        let (loader, transport) = try loader(answering: [
            { _ in Self.broken("hello", of: length, [.eTag: "\"one\""]) },
            { request in
                #expect(Self.field(.range, request) == "bytes=5-")
                #expect(Self.field(.ifRange, request) == "\"one\"")
                return TransportResponse(
                    .partialContent, " more", headerFields: [.contentRange: "bytes 5-9/10", .eTag: "\"one\""])
            },
        ])
        #expect(try await loader.value(for: "a") == "hello more")
        #expect(transport.requests.count == 2)
    }

    @Test func `if the file has changed, it is downloaded from the start`() async throws {
        let (loader, _) = try loader(answering: [
            { _ in Self.broken("hello", of: 10, [.eTag: "\"one\""]) },
            { _ in TransportResponse(.ok, "changed", headerFields: [.eTag: "\"two\""]) },
        ])
        #expect(try await loader.value(for: "a") == "changed")
    }

    @Test(arguments: ["bytes 4-9/10", "bytes 5-9/11", "nonsense"])
    func `a part other than the missing one is not combined with the earlier bytes`(range: String) async throws {
        let (loader, transport) = try loader(answering: [
            { _ in Self.broken("hello", of: 10, [.eTag: "\"one\""]) },
            { _ in TransportResponse(.partialContent, " more", headerFields: [.contentRange: range]) },
            { request in
                #expect(Self.field(.range, request) == nil)
                return TransportResponse(.ok, "hello more")
            },
        ])
        #expect(try await loader.value(for: "a") == "hello more")
        #expect(transport.requests.count == 3)
    }

    @Test(arguments: [[HTTPField.Name.eTag: "W/\"weak\""], [.eTag: "\"one\"", .contentEncoding: "gzip"], [:]])
    func `a download without a strong tag is not resumed`(fields: [HTTPField.Name: String]) async throws {
        var head = HTTPFields()
        for (name, value) in fields { head[name] = value }
        let (loader, transport) = try loader(answering: [{ [head] _ in Self.broken("hello", of: 10, head) }])
        await #expect(throws: TransportError.self) { try await loader.value(for: "a") }
        #expect(transport.requests.count == 1)
    }

    @Test func `C6 a part of another version is not combined with the earlier bytes`() async throws {
        let (loader, _) = try loader(answering: [
            { _ in Self.broken("hello", of: 10, [.eTag: "\"one\""]) },
            { _ in
                TransportResponse(
                    .partialContent, " more", headerFields: [.contentRange: "bytes 5-9/10", .eTag: "\"two\""])
            },
            { _ in TransportResponse(.ok, "other more") },
        ])
        #expect(try await loader.value(for: "a") == "other more")
    }

    @Test func `a decompressed body may be longer than its Content-Length`() async throws {
        let (loader, _) = try loader(answering: [
            { _ in
                TransportResponse(.ok, "hello", headerFields: [.contentLength: "3", .contentEncoding: "gzip"])
            }
        ])
        #expect(try await loader.value(for: "a") == "hello")
    }

    private static let heads: [(first: HTTPFields, rest: HTTPFields, isKept: Bool, seconds: TimeInterval)] = [
        ([.cacheControl: "max-age=60"], [:], true, 60),
        ([.cacheControl: "max-age=60"], [.cacheControl: "max-age=10"], true, 10),
        ([.cacheControl: "no-store"], [.cacheControl: "max-age=60"], false, 60),
        ([.cacheControl: "max-age=60"], [.cacheControl: "no-store"], false, 0),
    ]

    @Test(arguments: heads)
    func `C7 a body in parts has the freshness of all its answers, and each may forbid storage`(
        first: HTTPFields, rest: HTTPFields, isKept: Bool, seconds: TimeInterval
    ) async throws {
        let transport = Self.transport([
            { _ in
                var fields = first
                fields[.eTag] = "\"one\""
                return Self.broken("hello", of: 10, fields)
            },
            { _ in
                var fields = rest
                fields[.contentRange] = "bytes 5-9/10"
                return TransportResponse(.partialContent, " more", headerFields: fields)
            },
        ])
        let disk = try Self.diskLoader(transport)
        #expect(try await disk.loader.value(for: "a") == "hello more")
        let entry = await disk.entry()
        #expect((entry != nil) == isKept)
        if isKept {
            #expect(entry?.etag == "\"one\"")
            #expect(entry?.expiresAt == Self.now + seconds)
        }
    }

    @Test func `C7 a confirmation that forbids storage removes the value from the disk`() async throws {
        let disk = try Self.diskLoader(
            Self.transport([
                { _ in TransportResponse(.ok, "hello", headerFields: [.eTag: "\"one\""]) },
                { _ in TransportResponse(.notModified, headerFields: [.cacheControl: "no-store"]) },
            ]))
        #expect(try await disk.loader.value(for: "a") == "hello")
        #expect(await disk.entry() != nil)
        #expect(try await disk.loader.value(for: "a", freshness: .fresh) == "hello")
        #expect(await disk.entry() == nil)
    }

    private static let confirmations: [(first: HTTPFields, second: HTTPFields, seconds: TimeInterval)] = [
        ([.cacheControl: "max-age=60"], [:], 60), ([.cacheControl: "max-age=60", .age: "20"], [:], 60),
        ([.cacheControl: "max-age=60"], [.cacheControl: "max-age=10"], 10),
        ([.cacheControl: "max-age=60"], [.age: "20"], 40), ([.cacheControl: "no-cache"], [:], 0),
        ([.cacheControl: "max-age=60", .vary: "*"], [:], 0), ([.cacheControl: "max-age=60"], [.vary: "*"], 0),
    ]

    @Test(arguments: confirmations, [true, false])
    func `C7 a confirmation without a lifetime keeps the previous lifetime`(
        _ answers: (first: HTTPFields, second: HTTPFields, seconds: TimeInterval), isRelaunched: Bool
    ) async throws {
        var first = answers.first
        first[.eTag] = "\"one\""
        let transport = Self.transport([
            { [first] _ in TransportResponse(.ok, "hello", headerFields: first) },
            { _ in TransportResponse(.notModified, headerFields: answers.second) },
        ])
        let disk = try Self.diskLoader(transport)
        #expect(try await disk.loader.value(for: "a") == "hello")
        if isRelaunched {
            _ = await disk.entry()
            disk.loader.trim(to: 0)
        }
        #expect(try await disk.loader.value(for: "a", freshness: .fresh) == "hello")
        // The disk has the remaining lifetime.
        let left = isRelaunched && answers.first[.age] != nil ? 40 : answers.seconds
        #expect(await disk.entry()?.expiresAt == Self.now + left)
    }

    @Test func `a download that is interrupted again and again fails`() async throws {
        let (loader, transport) = try loader(
            answering: Array(repeating: { _ in Self.broken("hello", of: 10, [.eTag: "\"one\""]) }, count: 10))
        await #expect(throws: TransportError.self) { try await loader.value(for: "a") }
        #expect(transport.requests.count == 4)
    }

    @Test func `a body shorter than announced is not a value`() async throws {
        let (loader, _) = try loader(answering: [
            { _ in TransportResponse(.ok, "hel", headerFields: [.contentLength: "5"]) }
        ])
        await #expect(throws: TransportError.self) { try await loader.value(for: "a") }
    }

    @Test func `C4 a missing resource is an error, and is not requested again for a minute`() async throws {
        let (loader, transport) = try loader(answering: [{ _ in TransportResponse(.notFound) }])
        for _ in 0..<2 {
            await #expect(throws: HTTPStatusError(status: .notFound)) { try await loader.value(for: "a") }
        }
        #expect(transport.requests.count == 1)
    }

    @Test func `C4 a refusal whose body never arrives is an error with its status`() async throws {
        let clock = ManualClock()
        let (chunks, feed) = AsyncStream.makeStream(of: [UInt8].self)
        let transport = InMemoryTransport(dependencies: Dependencies(clock: clock)) { _ in
            TransportResponse(head: HTTPResponse(status: .notFound), body: ResponseBody(chunks))
        }
        let source = HTTPSource(try Self.session(transport, dependencies: Dependencies(clock: clock)))
        let loader = Loader<String, String> { fetch in
            try await source.fetch(fetch, from: "/texts/a") { String(decoding: $0, as: UTF8.self) }
        }
        let value = Task { try await loader.value(for: "a") }
        let time = Task {
            while !Task.isCancelled {
                for _ in 0..<50 { await Task.yield() }
                if let next = clock.untilNextSleeper { clock.advance(by: next) }
            }
        }
        await #expect(throws: HTTPStatusError(status: .notFound)) { try await value.value }
        time.cancel()
        feed.finish()
    }

    @Test func `reading stops at the limit`() async throws {
        let (loader, _) = try loader(answering: [{ _ in TransportResponse(.ok, "hello") }], limitBytes: 4)
        await #expect { try await loader.value(for: "a") } throws: { ($0 as? TransportError)?.kind == .tooLarge }
    }

    private static let lifetimes: [([String: String], TimeInterval)] = [
        (["Cache-Control": "max-age=60"], 60), (["Cache-Control": "Max-Age=60, must-revalidate", "Age": "20"], 40),
        (["Cache-Control": "no-cache, max-age=60"], 0), (["Cache-Control": "no-store"], 0),
        (["Expires": "Mon, 21 Sep 2026 13:14:20 GMT", "Date": "Mon, 21 Sep 2026 13:13:20 GMT"], 60),
        (["Cache-Control": "max-age=999999999999999999999999"], 2_147_483_648), (["Cache-Control": "max-age=nan"], 0),
        (["Cache-Control": "max-age=60", "Vary": "Accept, *"], 0),
        (["Expires": "0"], 0), (["Cache-Control": "max-age=soon"], 0), ([:], 0),
        (["Last-Modified": "Mon, 21 Sep 2026 13:13:20 GMT", "Date": "Mon, 21 Sep 2026 13:23:20 GMT"], 60),
        (["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], 86_400),
    ]

    @Test(arguments: lifetimes)
    func `C7 a value is fresh for as long as its answer says`(fields: [String: String], seconds: TimeInterval)
        async throws
    {
        var head = HTTPFields()
        for (name, value) in fields { head[try #require(HTTPField.Name(name))] = value }
        let seen = Mutex<Validity?>(nil)
        let (loader, _) = try loader(
            answering: [{ [head] _ in TransportResponse(.ok, "hello", headerFields: head) }]
        ) { _, validity in
            seen.withLock { $0 = validity }
            return validity
        }
        _ = try await loader.value(for: "a")
        #expect(seen.withLock { $0?.expiresAt } == Self.now + seconds)
    }

    @Test func `C7 the app may override the freshness`() async throws {
        let (loader, transport) = try loader(
            answering: [{ _ in TransportResponse(.ok, "hello") }]
        ) { _, validity in Validity(etag: validity.etag) }
        _ = try await loader.value(for: "a")
        _ = try await loader.value(for: "a")
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [true, false])
    func `C7 the app may override whether the disk keeps a value`(isKept: Bool) async throws {
        let disk = Disk(
            HTTPSource(
                try Self.session(
                    Self.transport([
                        { _ in
                            TransportResponse(
                                .ok, "hello", headerFields: [.cacheControl: isKept ? "no-store" : "max-age=60"])
                        }
                    ])),
                isKeptOnDisk: { head, isAllowed in
                    #expect(isAllowed != isKept)
                    return head.headerFields[.cacheControl] == "no-store"
                }, now: { Self.now }))
        #expect(try await disk.loader.value(for: "a") == "hello")
        #expect((await disk.entry() != nil) == isKept)
    }

    @Test func `C9 the server's gazetteer names places, once for points with the same key`() async throws {
        let answer = #"{"place": "渋谷区", "area": "東京都", "country": "JP", "language": "ja", "attribution": "© A"}"#
        let transport = Self.transport([
            { _ in TransportResponse(.ok, answer, headerFields: [.cacheControl: "max-age=60"]) },
            { _ in TransportResponse(.noContent, headerFields: [.cacheControl: "max-age=60"]) },
        ])
        let places = Loader<PlaceKey, Place>(
            placesFrom: HTTPSource(try Self.session(transport), now: { Self.now }),
            dependencies: Dependencies(now: { Self.now }))
        for longitude in [139.7001, 139.7002] {
            let key = try #require(PlaceKey(latitude: 35.658, longitude: longitude, language: "ja-JP"))
            let name = PlaceName(place: "渋谷区", area: "東京都", country: "JP", attribution: "© A")
            #expect(try await places.value(for: key) == .named(name))
        }
        let sea = try #require(PlaceKey(latitude: 0, longitude: -30, language: "zh-Hant-TW"))
        #expect(try await places.value(for: sea) == .nowhere)
        #expect(
            transport.requests.map(\.head.path) == [
                "/places?lat=35.658&lon=139.7&lang=ja", "/places?lat=0.0&lon=-30.0&lang=zh-Hant",
            ])
    }
}
