// This source file is part of the Optimist open source project, under the MIT licence.

import NIOCore
import OptimistCore
import OptimistProxy
import Testing

@Suite(.timeLimit(.minutes(20)))
struct FaultProxyTests {
    private func message(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    private func expectEcho(of message: [UInt8], port: Int) async throws {
        let answer = try await exchange(message, port: port)
        #expect(answer == message)
    }

    /// A client sees a broken connection as an error, or as an early end if the client was writing.
    private func expectNoAnswer(to message: [UInt8], port: Int) async {
        let answer = (try? await exchange(message, port: port)) ?? []
        #expect(answer.isEmpty)
    }

    @Test(arguments: [
        NetworkConditions.online,
        NetworkConditions(latency: .milliseconds(4), jitter: .milliseconds(6)),
        NetworkConditions(sliceBytes: 7),
        NetworkConditions(latency: .milliseconds(2), jitter: .milliseconds(2), bandwidth: 3_000_000, sliceBytes: 1000),
    ])
    func `bytes arrive unchanged and in order, and so does the end of the stream`(
        conditions: NetworkConditions
    ) async throws {
        try await withProxy(conditions) { proxy, upstream in
            let sent = message(100_000)
            try await expectEcho(of: sent, port: proxy.port)
            #expect(upstream.received == sent)
            #expect(proxy.counters.requestBytes == sent.count)
            #expect(proxy.counters.responseBytes == sent.count)
            #expect(proxy.counters.resets == 0)
        }
    }

    @Test func `concurrent connections do not mix`() async throws {
        try await withProxy(NetworkConditions(jitter: .milliseconds(5), sliceBytes: 100)) { proxy, _ in
            let port = proxy.port
            try await withThrowingTaskGroup { group in
                for index in 0..<32 {
                    group.addTask {
                        let sent = [UInt8](repeating: UInt8(index), count: 2000 + index)
                        try await expectEcho(of: sent, port: port)
                    }
                }
                try await group.waitForAll()
            }
            #expect(proxy.counters.connections == 32)
        }
    }

    @Test func `after going offline and online in quick succession, the last setting applies`() async throws {
        try await withProxy { proxy, _ in
            for _ in 0..<20 {
                try await withThrowingTaskGroup { group in
                    for isOffline in [true, false, true, false] {
                        group.addTask { try await proxy.setConditions(isOffline ? .offline : .online) }
                    }
                    try await group.waitForAll()
                }
                try await proxy.setConditions(.online)
                try await expectEcho(of: message(100), port: proxy.port)
            }
        }
    }

    @Test func `more data than the proxy buffers passes, because the sender has to wait`() async throws {
        try await withProxy(NetworkConditions(latency: .milliseconds(2), bandwidth: 50_000_000)) { proxy, _ in
            let sent = message(8 << 20)
            try await expectEcho(of: sent, port: proxy.port)
        }
    }

    @Test func `offline resets open connections and refuses new ones, and online accepts them again`() async throws {
        try await withProxy { proxy, upstream in
            try await connect(to: proxy.port).executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: "a"))
                var answers = inbound.makeAsyncIterator()
                let answer = try await answers.next()
                #expect(answer == ByteBuffer(string: "a"))
                try await proxy.setConditions(.offline)
                let end = try? await answers.next()
                #expect(end == nil)
            }
            await expectNoAnswer(to: message(10), port: proxy.port)
            #expect(upstream.received == Array("a".utf8))
            try await proxy.setConditions(.online)
            try await expectEcho(of: message(10), port: proxy.port)
        }
    }

    @Test func `a request whose response is dropped has arrived, and the next one is answered`() async throws {
        try await withProxy { proxy, upstream in
            proxy.dropNextResponses(2)
            for count in 1...2 {
                await expectNoAnswer(to: Array("push".utf8), port: proxy.port)
                #expect(upstream.received.count == 4 * count)
            }
            try await expectEcho(of: Array("push".utf8), port: proxy.port)
            #expect(proxy.counters.droppedResponses == 2)
        }
    }

    @Test func `a truncated response ends like a complete one`() async throws {
        try await withProxy(NetworkConditions(truncateResponsesAfterBytes: 1000)) { proxy, upstream in
            try await connect(to: proxy.port).executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(bytes: message(5000)))
                var answer: [UInt8] = []
                for try await bytes in inbound { answer += Array(bytes.readableBytesView) }
                #expect(answer == Array(message(5000).prefix(1000)))
            }
        }
    }

    @Test func `a stalled proxy accepts connections, and moves their data when the stall ends`() async throws {
        try await withProxy(NetworkConditions(isStalled: true)) { proxy, upstream in
            try await connect(to: proxy.port).executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: "patience"))
                try await proxy.setConditions(NetworkConditions(isStalled: true))
                #expect(upstream.received.isEmpty)
                try await proxy.setConditions(.online)
                var answers = inbound.makeAsyncIterator()
                let answer = try await answers.next()
                #expect(answer == ByteBuffer(string: "patience"))
            }
        }
    }

    @Test func `at full loss no connection survives, and equal seeds lose the same connections`() async throws {
        try await withProxy(NetworkConditions(lossPercent: 100)) { proxy, upstream in
            await expectNoAnswer(to: message(10), port: proxy.port)
            #expect(upstream.received.isEmpty)
        }
        func survivors(seed: UInt64) async throws -> [Int] {
            var survivors: [Int] = []
            try await withProxy(NetworkConditions(lossPercent: 30), seed: seed) { proxy, _ in
                for attempt in 0..<40 where (try? await exchange([1], port: proxy.port)) == [1] {
                    survivors.append(attempt)
                }
            }
            return survivors
        }
        let first = try await survivors(seed: 3)
        let second = try await survivors(seed: 3)
        #expect(second == first)
        #expect(!first.isEmpty && first.count < 40)
    }

    @Test func `a server that is down causes a reset`() async throws {
        let nobodyListens = 1
        let proxy = try await FaultProxy.start(upstream: ("127.0.0.1", nobodyListens))
        await expectNoAnswer(to: [1], port: proxy.port)
        #expect(proxy.counters.resets == 1)
        await proxy.shutdown()
    }

    @Test func `several servers take turns, and a server that is down is skipped`() async throws {
        let (one, other) = (try await Upstream(), try await Upstream())
        let nobodyListens = 1
        let proxy = try await FaultProxy.start(
            upstreams: [one.port, nobodyListens, other.port].map { ("127.0.0.1", $0) })
        for byte in 1...6 as ClosedRange<UInt8> {
            let answer = try await exchange([byte], port: proxy.port)
            #expect(answer == [byte])
        }
        // The second and the fifth connection go to the next server.
        #expect(one.received == [1, 4] && other.received == [2, 3, 5, 6])
        await one.close()
        let answer = try await exchange([7], port: proxy.port)
        #expect(answer == [7] && other.received.last == 7)
        #expect(proxy.counters.resets == 0)
        await other.close()
        await expectNoAnswer(to: [8], port: proxy.port)
        await proxy.shutdown()
    }

    @Test func `reset all breaks open connections and accepts new ones`() async throws {
        try await withProxy(echoes: false) { proxy, upstream in
            try await connect(to: proxy.port).executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: "x"))
                await upstream.waitForBytes(1)
                await proxy.resetAll()
                var answers = inbound.makeAsyncIterator()
                let end = try? await answers.next()
                #expect(end == nil)
            }
            try await proxy.setConditions(.online)
            try await connect(to: proxy.port).executeThenClose { _, outbound in
                try await outbound.write(ByteBuffer(string: "y"))
                await upstream.waitForBytes(2)
            }
        }
    }

    @Test func `a port in use is reported, and shutdown frees it`() async throws {
        try await withProxy { proxy, upstream in
            let error = await #expect(throws: OptimistError.self) {
                _ = try await FaultProxy.start(listenPort: proxy.port, upstream: ("127.0.0.1", upstream.port))
            }
            #expect(error?.code == .cannotListen)
            let port = proxy.port
            await proxy.shutdown()
            await proxy.closed()
            let next = try await FaultProxy.start(listenPort: port, upstream: ("127.0.0.1", upstream.port))
            try await expectEcho(of: [1, 2], port: port)
            await next.shutdown()
        }
    }
}
