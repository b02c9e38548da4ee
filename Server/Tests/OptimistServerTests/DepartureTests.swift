// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import NIOCore
import NIOHTTP1
import NIOPosix
import OptimistServing
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

/// Requests whose clients leave before the answer.
@Suite(.embedded, .timeLimit(.minutes(20)))
struct DepartureTests {
    let site = Site()

    @Test(arguments: Visitor.Way.allCases)
    func `a request that waits for the writer is dropped as soon as its client leaves`(way: Visitor.Way)
        async throws
    {
        try await site.serving { server, side async throws in
            let person = try await side.knownPerson()
            let commits = try server.commits
            let gate = try await site.holdWriter(of: server)
            defer { gate.signal() }
            var visitors: [Visitor] = []
            // As many as a session may have in flight.
            for number in 1...RowSync.Limit.concurrentRequests {
                let visitor = try await Visitor(port: server.port)
                try await visitor.ask(side.creating(number, of: person), of: person)
                visitors.append(visitor)
                while commits.waitingCount < number { await Task.yield() }
            }
            #expect(server.routes.memory.total > 0)
            for visitor in visitors { try await visitor.leave(way) }
            // They leave the queue although the writer is still held.
            while commits.waitingCount > 0 || server.routes.memory.total > 0 { await Task.yield() }
            if way == .closesItsSide {
                for visitor in visitors { #expect(await visitor.answer() == 503) }
            }
            gate.signal()
            var answer: HTTPSide.Answer
            repeat {
                answer = try await side.post("/jmap", side.creating(99, of: person), token: person.access)
            } while answer.status == 429
            #expect(answer.status == 200)
            #expect(try await server.rows(account: person.account, type: "todo").map(\.id) == [RowKey.id(99)])
        }
    }

    @Test func `each request that waits for the writer is answered if the client stays`() async throws {
        try await site.serving { server, side async throws in
            let person = try await side.knownPerson()
            let visitor = try await Visitor(port: server.port)
            for number in 1...3 {
                let gate = try await site.holdWriter(of: server)
                defer { gate.signal() }
                try await visitor.ask(side.creating(number, of: person), of: person)
                while try server.commits.waitingCount < 1 { await Task.yield() }
                gate.signal()
                #expect(await visitor.answer() == 200)
            }
            #expect(try await server.rows(account: person.account, type: "todo").count == 3)
        }
    }

    @Test func `pipelined requests of a client that leaves are dropped as well`()
        async throws
    {
        try await site.serving { server, side async throws in
            let person = try await side.knownPerson()
            let gate = try await site.holdWriter(of: server)
            defer { gate.signal() }
            let visitor = try await Visitor(port: server.port)
            for number in 1...2 { try await visitor.ask(side.creating(number, of: person), of: person) }
            while try server.commits.waitingCount < 1 { await Task.yield() }
            try await visitor.leave(.closesItsSide)
            for _ in 1...2 { #expect(await visitor.answer() == 503) }
            gate.signal()
            _ = try await server.call(person, "todo/set", ["create": [RowKey.id(3): ["content": "x"]]])
            #expect(try await server.rows(account: person.account, type: "todo").map(\.id) == [RowKey.id(3)])
        }
    }
}

extension HTTPSide {
    /// A person whose token the server has already seen, because the first use writes to the database.
    fileprivate func knownPerson() async throws -> Person {
        let person = try await signUp()
        #expect(try await get("/.well-known/jmap", token: person.access).status == 200)
        return person
    }

    fileprivate func creating(_ number: Int, of person: Person) -> [UInt8] {
        Request(methodCalls: [
            Invocation(
                "todo/set",
                ["accountId": .string(person.account), "create": [RowKey.id(number): ["content": "x"]]], callID: "0")
        ]).json.bytes
    }
}

/// A client that can leave in every way a connection can end.
final class Visitor: Sendable {
    enum Way: CaseIterable {
        case closes, closesItsSide, resets
    }

    private let channel: any Channel
    private let statuses: AsyncStream<Int>

    init(port: Int) async throws {
        let (statuses, heard) = AsyncStream.makeStream(of: Int.self)
        self.statuses = statuses
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(HTTPSide.patience)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(Listener(heard))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    /// Sends a complete request without waiting for the answer.
    func ask(_ body: [UInt8], of person: Person) async throws {
        let fields = [
            ("Host", "localhost"), ("Authorization", "Bearer \(person.access)"), ("Content-Length", "\(body.count)"),
        ]
        let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/jmap", headers: HTTPHeaders(fields))
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
        try await channel.writeAndFlush(HTTPClientRequestPart.end(nil))
    }

    func leave(_ way: Way) async throws {
        switch way {
        case .closes: try await channel.close()
        case .closesItsSide: try await channel.close(mode: .output)
        case .resets:
            let socket = try #require(channel as? any SocketOptionProvider)
            try await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
            try await channel.close()
        }
    }

    /// The status of the next answer, or nil if the connection has closed.
    func answer() async -> Int? { await statuses.first { _ in true } }

    private final class Listener: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart

        private let heard: AsyncStream<Int>.Continuation
        private var status = 0

        init(_ heard: AsyncStream<Int>.Continuation) { self.heard = heard }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): status = Int(head.status.code)
            case .body: break
            case .end: heard.yield(status)
            }
        }

        func channelInactive(context: ChannelHandlerContext) { heard.finish() }
    }
}
