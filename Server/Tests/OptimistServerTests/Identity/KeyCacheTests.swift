// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import NIOCore
import NIOPosix
import OptimistCore
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistServer

/// When a provider's keys are fetched.
@Suite(.timeLimit(.minutes(20)))
struct KeyCacheTests {
    /// A provider that the test takes down and whose keys it rotates.
    private final class Provider: Sendable {
        struct State {
            var keys: [JSON] = []
            var isDown = false
            var asked: [String] = []
            var now = Duration.zero
            var metadata: JSONObject = [
                "issuer": .string(DraftToken.issuer), "jwks_uri": "https://keys.example.org/set",
            ]
        }
        let state = Mutex(State())

        func ring(_ keys: IdentityProvider.Keys = .discovery) throws -> KeyRing {
            try KeyRing(
                IdentityProvider(name: "test", issuer: DraftToken.issuer, audiences: ["app"], keys: keys),
                fetch: { url in
                    try self.state.withLock { state in
                        state.asked.append(url.absoluteString)
                        if state.isDown { throw URLError(.cannotConnectToHost) }
                        let isSet = url.path() == "/set"
                        return JSON.object(isSet ? ["keys": .array(state.keys)] : state.metadata).bytes
                    }
                }, elapsed: { self.state.withLock { $0.now } }, spawn: { work in Task { await work() } },
                logger: SharedDatabase.quiet)
        }

        func rotate(_ ids: String...) throws {
            let key = try TokenKey.named("p256")
            state.withLock { $0.keys = ids.map { key.json(id: $0, algorithm: "ES256") } }
        }

        var fetches: Int { state.withLock { $0.asked.count { $0.hasSuffix("/set") } } }
        func advance(by seconds: Double) { state.withLock { $0.now += .seconds(seconds) } }
        func goDown(_ isDown: Bool = true) { state.withLock { $0.isDown = isDown } }
    }

    private let provider = Provider()

    private func outcome(_ id: String?, _ ring: KeyRing) async throws -> String {
        let token = try SignedToken(DraftToken(.named("p256"), algorithm: "ES256", id: id).text())
        do { return try await ring.key(for: token).id ?? "-" } catch let refusal as TokenRefusal {
            return refusal.rawValue
        } catch is KeysUnavailable { return "unavailable" }
    }

    @Test func `I4 keys are found by discovery, used for an hour, then fetched again`() async throws {
        try provider.rotate("a")
        let ring = try provider.ring()
        for _ in 0..<3 { #expect(try await outcome("a", ring) == "a") }
        #expect(
            provider.state.withLock { $0.asked } == [
                DraftToken.issuer + "/.well-known/openid-configuration", "https://keys.example.org/set",
            ])
        provider.advance(by: 3599)
        #expect(try await outcome("a", ring) == "a" && provider.fetches == 1)
        provider.advance(by: 1)
        try provider.rotate("b")
        #expect(try await outcome("a", ring) == "token_key" && provider.fetches == 2)
        #expect(try await outcome("b", ring) == "b" && provider.fetches == 2)
    }

    @Test func `I4 an unknown key id is fetched for at once, but at most once a minute`() async throws {
        try provider.rotate("a")
        let ring = try provider.ring()
        #expect(try await outcome("a", ring) == "a")
        provider.advance(by: 61)
        try provider.rotate("b")
        #expect(try await outcome("b", ring) == "b" && provider.fetches == 2)
        for id in 0..<50 { #expect(try await outcome("x\(id)", ring) == "token_key") }
        provider.advance(by: 59)
        #expect(try await outcome("x", ring) == "token_key" && provider.fetches == 2)
        provider.advance(by: 1)
        #expect(try await outcome("x", ring) == "token_key" && provider.fetches == 3)
    }

    @Test func `I4 many sign-ins at once share one fetch`() async throws {
        try provider.rotate("a")
        let ring = try provider.ring()
        let outcomes = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await outcome("a", ring) } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(outcomes == ["a"] && provider.fetches == 1)
    }

    @Test func `I4 while the provider is down, known keys work for a week, and others are tried again`() async throws {
        try provider.rotate("a")
        let ring = try provider.ring()
        #expect(try await outcome("a", ring) == "a")
        provider.goDown()
        provider.advance(by: 6 * 86_400)
        #expect(try await outcome("a", ring) == "a")
        #expect(try await outcome("b", ring) == "unavailable")
        let asked = provider.state.withLock { $0.asked.count }
        #expect(try await outcome("b", ring) == "unavailable")
        #expect(provider.state.withLock { $0.asked.count } == asked, "not again within ten seconds")
        provider.advance(by: 86_400)
        #expect(try await outcome("a", ring) == "unavailable")
        provider.goDown(false)
        provider.advance(by: 10)
        try provider.rotate("b")
        #expect(try await outcome("b", ring) == "b")
    }

    @Test func `I4 a provider that was never reached is tried again after ten seconds`() async throws {
        provider.goDown()
        let ring = try provider.ring()
        #expect(try await outcome("a", ring) == "unavailable")
        provider.goDown(false)
        try provider.rotate("a")
        provider.advance(by: 9)
        #expect(try await outcome("a", ring) == "unavailable")
        provider.advance(by: 1)
        #expect(try await outcome("a", ring) == "a")
    }

    @Test(
        arguments: [
            ["issuer": "https://other.example"], ["jwks_uri": "http://keys.example.org/set"],
            ["jwks_uri": "file:///set"],
            ["jwks_uri": "http://127.0.0.1/set"], ["jwks_uri": 1], ["issuer": .null],
        ] as [JSONObject])
    func `I4 metadata of another issuer, or with an unsafe address, is not used`(change: JSONObject) async throws {
        try provider.rotate("a")
        provider.state.withLock { for (name, value) in change { $0.metadata[name] = value } }
        #expect(try await outcome("a", provider.ring()) == "unavailable" && provider.fetches == 0)
    }

    @Test func `I4 an answer that is not a set of keys changes nothing`() async throws {
        try provider.rotate("a")
        let ring = try provider.ring()
        #expect(try await outcome("a", ring) == "a")
        provider.advance(by: 3600)
        provider.state.withLock { $0.keys = Array(repeating: ["kty": "EC"], count: 101) }
        #expect(try await outcome("a", ring) == "a" && provider.fetches == 2)
    }

    @Test(arguments: [[], [["kty": "EC"]]] as [[JSON]])
    func `I4 a set without a usable key does not replace the known keys`(set: [JSON]) async throws {
        try provider.rotate("a")
        let ring = try provider.ring()
        #expect(try await outcome("a", ring) == "a")
        provider.advance(by: 3600)
        provider.state.withLock { $0.keys = set }
        #expect(try await outcome("a", ring) == "a" && provider.fetches == 2)
        #expect(try await outcome("b", ring) == "unavailable")
    }

    @Test func `I4 after a failure, a sign-in with a known key does not wait for the provider`() async throws {
        try provider.rotate("a")
        let ring = try provider.ring()
        #expect(try await outcome("a", ring) == "a")
        provider.goDown()
        provider.advance(by: 3600)
        #expect(try await outcome("a", ring) == "a")
        provider.goDown(false)
        try provider.rotate("b")
        provider.advance(by: 10)
        #expect(try await outcome("a", ring) == "a", "at once, with the known key")
        while try await outcome("a", ring) == "a" { await Task.yield() }
        #expect(try await outcome("a", ring) == "token_key" && provider.fetches == 2)
        #expect(try await outcome("b", ring) == "b")
    }

    @Test func `I4 a key's address may be a file, which is read at the start and never fetched`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let key = try TokenKey.named("p256").json(id: "a", algorithm: "ES256")
        try Data(JSON.object(["keys": [key]]).bytes).write(to: file)
        let ring = try provider.ring(.url(file))
        #expect(try await outcome("a", ring) == "a" && provider.state.withLock { $0.asked.isEmpty })
        #expect(throws: OptimistError.self) { try provider.ring(.url(file.appending(path: "missing"))) }
    }

    @Test func `I4 an answer whose body never ends is given up`() async throws {
        try await serving(announced: 100, sent: 1) { url async throws in
            await #expect(throws: KeysUnavailable.self) {
                _ = try await HTTPKeyFetch.get(url, within: .milliseconds(200))
            }
        }
    }

    @Test func `I4 an answer above 256 KB is not read`() async throws {
        let limit = VerificationKey.maxSetBytes
        try await serving(announced: limit, sent: limit) { url async throws in
            #expect(try await HTTPKeyFetch.get(url, within: .seconds(60)).count == limit)
        }
        try await serving(announced: limit + 1, sent: limit + 1) { url async throws in
            await #expect(throws: NIOTooManyBytesError.self) {
                _ = try await HTTPKeyFetch.get(url, within: .seconds(60))
            }
        }
    }

    /// Serves bodies of these lengths.
    private func serving(announced: Int, sent: Int, _ body: (URL) async throws -> Void) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answering(announced: announced, sent: sent))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        try await body(try #require(URL(string: "http://127.0.0.1:\(port)/keys")))
        try await server.close()
    }

    /// Answers each request with a head and a body, which may be shorter than the head says.
    private final class Answering: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let text: String

        init(announced: Int, sent: Int) {
            text =
                "HTTP/1.1 200 OK\r\nContent-Length: \(announced)\r\n\r\n" + String(repeating: "{", count: sent)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        }
    }

    @Test func `I4 a sign-in that is cancelled does not stop the fetch of the others`() async throws {
        try provider.rotate("a")
        let ring = try provider.ring()
        let cancelled = Task {
            // Cancelled before it asks.
            while !Task.isCancelled { await Task.yield() }
            return try await outcome("a", ring)
        }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
        #expect(try await outcome("a", ring) == "a" && provider.fetches == 1)
    }
}
