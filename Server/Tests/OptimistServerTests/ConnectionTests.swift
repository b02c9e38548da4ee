// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Synchronization
import Testing

@testable import OptimistServer

/// The server closes connections whose clients keep it waiting.
@Suite(.timeLimit(.minutes(20)))
struct ConnectionTests {
    private func watched() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(
            ConnectionWatch(readerPatience: .seconds(30), endPatience: .seconds(5)))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private func head(_ fields: [(String, String)] = [], version: HTTPVersion = .http1_1) -> HTTPServerRequestPart {
        .head(HTTPRequestHead(version: version, method: .POST, uri: "/", headers: HTTPHeaders(fields)))
    }

    /// Writes a part of an answer, which waits until the channel is flushed.
    private func write(_ bytes: Int, to channel: EmbeddedChannel) {
        let part = HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(repeating: 0, count: bytes)))
        channel.write(part, promise: nil)
    }

    /// Lets a client read an answer in chunks at an interval until the connection is closed or all is read.
    ///
    /// - Returns: The seconds after which the connection is closed, or nil.
    private func read(_ channel: EmbeddedChannel, chunk: Int, each seconds: Int64, chunks: Int64) -> Int64? {
        for count in 1...chunks {
            write(chunk, to: channel)
            channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
            guard channel.isActive else { return count * seconds }
            channel.flush()
        }
        return nil
    }

    @Test func `a client that reads nothing is closed exactly when the patience ends`() throws {
        let channel = try watched()
        write(32_768, to: channel)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(29_999))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(!channel.isActive)
    }

    @Test(
        arguments: [(2_000, 5, 30...40), (4_096, 1, 59...61), (65_536, 29, 38...58)]
            as [(Int, Int64, ClosedRange<Int64>)])
    func `a client that reads too slowly is closed after the patience plus a second per 8 KB`(
        chunk: Int, seconds: Int64, expected: ClosedRange<Int64>
    ) throws {
        let end = try #require(read(try watched(), chunk: chunk, each: seconds, chunks: 200))
        #expect(expected.contains(end), "\(end) s")
    }

    @Test(arguments: [(2_000, 100), (20_000, 1_000), (500_000, 25_000)] as [(Int, Int64)])
    func `a client that reads 20 KB per second stays, whatever its chunk size`(
        chunk: Int, milliseconds: Int64
    ) throws {
        let channel = try watched()
        for _ in 0..<200 {
            write(chunk, to: channel)
            channel.embeddedEventLoop.advanceTime(by: .milliseconds(milliseconds))
            channel.flush()
        }
        #expect(channel.isActive)
    }

    @Test func `the patience runs only while data waits for the client`() throws {
        let channel = try watched()
        for _ in 0..<5 {
            #expect(read(channel, chunk: 1_000, each: 4, chunks: 6) == nil)
            try channel.writeOutbound(HTTPServerResponsePart.end(nil))
            channel.embeddedEventLoop.advanceTime(by: .hours(1))
        }
        #expect(channel.isActive)
    }

    @Test func `a stopping server waits 5 s for a request body, and for its own answer as long as needed`() throws {
        let (sending, working) = (try watched(), try watched())
        for channel in [sending, working] { try channel.writeInbound(head()) }
        try working.writeInbound(HTTPServerRequestPart.end(nil))
        for channel in [sending, working] {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            channel.embeddedEventLoop.advanceTime(by: .milliseconds(4_999))
            #expect(channel.isActive)
            channel.embeddedEventLoop.advanceTime(by: .seconds(3))
        }
        #expect(!sending.isActive && working.isActive)
        // The answer is ready, and the client does not read it.
        write(1_000, to: working)
        working.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!working.isActive)
    }

    @Test func `an answer is written only a few pieces ahead of a busy event loop`() async throws {
        let (loop, gate, log) = (NIOAsyncTestingEventLoop(), DispatchSemaphore(value: 0), Log())
        loop.execute {
            gate.wait()
            log.note("loop")
        }
        let writing = Task {
            var pieces = AnswerPieces(log, on: loop)
            for count in [1, 1, 4] {
                try await pieces.write(ByteBuffer(repeating: 0, count: count * AnswerPieces.bytes))
            }
        }
        while log.lines.count < 4, !Task.isCancelled { await Task.yield() }
        for _ in 0..<1_000 { await Task.yield() }
        gate.signal()
        try await writing.value
        #expect(log.lines == ["piece", "piece", "piece", "piece", "loop", "piece", "piece"])
    }

    @Test func `a body behind 100-continue is requested once, when a route reads it`() throws {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(RequestHeads())
        try channel.writeInbound(head([("Host", "x"), ("Expect", "100-Continue")]))
        #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == nil)
        for _ in 0..<2 { channel.triggerUserOutboundEvent(RequestHeads.BodyIsAwaited(), promise: nil) }
        let answer = try channel.readOutbound(as: HTTPServerResponsePart.self)
        #expect(answer == .head(HTTPResponseHead(version: .http1_1, status: .continue)))
        #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == nil)
    }

    @Test func `a refusal before 100-continue closes the connection`() throws {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(RequestHeads())
        try channel.writeInbound(head([("Host", "x"), ("Expect", "100-continue")]))
        try channel.writeOutbound(
            HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .unauthorized)))
        guard case .head(let refusal)? = try channel.readOutbound(as: HTTPServerResponsePart.self) else {
            Issue.record("no head")
            return
        }
        #expect(refusal.headers["Connection"] == ["close"])
    }

    @Test(
        arguments: [
            (HTTPMethod.GET, [("Host", "x"), ("Connection", "Upgrade"), ("Upgrade", "websocket")], true),
            (.POST, [("Host", "x"), ("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c")], true),
            (.CONNECT, [("Host", "x:80")], true), (.GET, [("Host", "x")], false),
        ] as [(HTTPMethod, [(String, String)], Bool)])
    func `a connection whose client requests a protocol upgrade is closed after the answer`(
        method: HTTPMethod, fields: [(String, String)], isClosed: Bool
    ) throws {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(RequestHeads())
        let head = HTTPRequestHead(version: .http1_1, method: method, uri: "/", headers: HTTPHeaders(fields))
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
        guard case .head(let answer)? = try channel.readOutbound(as: HTTPServerResponsePart.self) else {
            Issue.record("no head")
            return
        }
        #expect(answer.headers["Connection"] == (isClosed ? ["close"] : []))
    }

    @Test
    func `HTTP 1.0 works without Host, and its connection closes after the answer unless keep-alive is requested`()
        throws
    {
        for (fields, isClosed) in [([], true), ([("Connection", "keep-alive"), ("Host", "h")], false)] {
            let channel = EmbeddedChannel()
            try channel.pipeline.syncOperations.addHandler(RequestHeads())
            try channel.writeInbound(head(fields, version: .http1_0))
            guard case .head(let request)? = try channel.readInbound(as: HTTPServerRequestPart.self) else {
                Issue.record("no head")
                return
            }
            #expect(request.headers["Host"] == [fields.isEmpty ? "localhost" : "h"])
            try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
            guard case .head(let answer)? = try channel.readOutbound(as: HTTPServerResponsePart.self) else {
                Issue.record("no answer")
                return
            }
            #expect(answer.headers.contains(name: "Connection") == isClosed)
        }
    }

    @Test func `each address has a connection limit, unless the server is behind a proxy`() {
        let limit = AddressLimit(2)
        #expect(limit.enter("a") && limit.enter("a") && !limit.enter("a") && limit.enter("b"))
        limit.leave("a")
        #expect(limit.enter("a") && !limit.enter("a"))
        let proxied = AddressLimit(nil)
        for _ in 0..<1_000 { #expect(proxied.enter("a")) }
    }

    @Test(arguments: [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true), ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", false), ("::ffff:10.0.0.1", "10.0.0.1", true),
        ("10.0.0.1", "10.0.0.2", false),
    ])
    func `addresses in one IPv6 network share a limit`(a: String, b: String, isSame: Bool) throws {
        let owners = try [a, b].map { try SocketAddress(ipAddress: $0, port: 1).connectionOwner }
        #expect((owners[0] == owners[1]) == isSame)
    }

    @Test func `the limit of open files leaves room for the database`() {
        #expect(FileLimit.connections(under: 1_024) == 896)
        #expect(FileLimit.connections(under: 64) == 32)
        #expect(FileLimit.raise() >= 256)
    }
}

/// Records each piece that is written.
private final class Log: ResponseBodyWriter, Sendable {
    private let state = Mutex<[String]>([])
    var lines: [String] { state.withLock(\.self) }

    func note(_ line: String) { state.withLock { $0.append(line) } }
    func write(_ buffer: ByteBuffer) async throws { note("piece") }
    func finish(_ trailingHeaders: HTTPFields?) async throws { note("end") }
}
