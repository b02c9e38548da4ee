// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistSession
import OptimistTesting
import Testing

@testable import OptimistCore

/// Bodies that stall, and slow readers.
@Suite(.timeLimit(.minutes(20)))
struct SessionSilenceTests {
    /// An answer whose body never arrives.
    private static func silent(_ status: HTTPResponse.Status) -> TransportResponse {
        let (chunks, feed) = AsyncStream.makeStream(of: [UInt8].self)
        // The continuation keeps the stream open.
        let body = chunks.map { chunk in
            _ = feed
            return chunk
        }
        return TransportResponse(head: HTTPResponse(status: status), body: ResponseBody(body))
    }

    @Test(arguments: [Duration.seconds(30), nil])
    func `T7: if the body of a stream's refusal never arrives, the head decides`(idleTimeout: Duration?) async throws {
        let bench = Bench()
        bench.server.onRequest { Self.silent(.notFound) }
        let answer = try await bench.whileTimePasses(asleep: 2) {
            try await bench.session.stream(SessionRequest("/events"), idleTimeout: idleTimeout) { head, body in
                (head.status, try await body.collect(upTo: 100))
            }
        }
        #expect(answer.0 == .notFound)
        #expect(answer.1.isEmpty)
    }

    @Test func `T7: a slow refusal is read only until the request's deadline`() async throws {
        let bench = Bench()
        let clock = bench.clock
        bench.server.onRequest {
            let drops = AsyncStream<[UInt8]> {
                try? await clock.sleep(for: .seconds(10))
                return Task.isCancelled ? nil : [1]
            }
            return TransportResponse(head: HTTPResponse(status: .notFound), body: ResponseBody(drops))
        }
        let status = try await bench.whileTimePasses(asleep: 3) {
            try await bench.session.stream(SessionRequest("/events"), idleTimeout: .seconds(30)) { head, _ in
                head.status
            }
        }
        #expect(status == .notFound)
        #expect(clock.elapsed <= .seconds(70))
    }

    @Test(arguments: [true, false])
    func `T1: a refused token is renewed even if the answer's body never arrives`(isStream: Bool) async throws {
        let bench = Bench()
        bench.server.onRequest {
            isStream
                ? Self.silent(.unauthorized)
                : TransportResponse(
                    head: HTTPResponse(status: .unauthorized),
                    body: ResponseBody(
                        AsyncThrowingStream<[UInt8], any Error> { $0.finish(throwing: Self.breakOff) }))
        }
        let request = SessionRequest("/rows", method: .post)
        let status =
            if isStream {
                try await bench.whileTimePasses(asleep: 2) {
                    try await bench.session.stream(request, idleTimeout: .seconds(30)) { head, _ in head.status }
                }
            } else { try await bench.session.send(request).head.status }
        #expect(status == .ok)
        #expect(bench.server.refreshes == 1)
    }

    private static let breakOff = TransportError(.broken, .responseStarted)

    @Test func `a reader that takes ten minutes for a chunk does not time out the stream`() async throws {
        let bench = Bench()
        let clock = bench.clock
        bench.server.onRequest {
            TransportResponse(
                head: HTTPResponse(status: .ok),
                body: ResponseBody(
                    AsyncStream { feed in
                        feed.yield([1])
                        feed.yield([2])
                        feed.finish()
                    }))
        }
        let read = try await bench.whileTimePasses(asleep: 2) {
            try await bench.session.stream(SessionRequest("/events"), idleTimeout: .seconds(30)) { _, body in
                var read: [UInt8] = []
                for try await chunk in body {
                    try await clock.sleep(for: .seconds(600))
                    read += chunk
                }
                return read
            }
        }
        #expect(read == [1, 2])
    }

    @Test func `iterating a body twice throws`() async throws {
        for body in [ResponseBody([1]), Self.silent(.ok).body] {
            _ = body.makeAsyncIterator()
            await #expect { try await body.collect(upTo: 10) } throws: {
                ($0 as? TransportError)?.kind == .alreadyRead
            }
        }
    }
}

extension Bench {
    /// Does something, and advances the clock to the next sleeper whenever `count` tasks are asleep.
    ///
    /// - Parameter count: How many tasks sleep when the work is blocked. Count the timer of an earlier request with a
    ///   deadline as one of them.
    func whileTimePasses<Result: Sendable>(
        asleep count: Int, _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let clock = clock
        let time = Task {
            while true {
                await clock.sleepers(atLeast: count)
                if Task.isCancelled { return }
                clock.advance(by: clock.untilNextSleeper ?? .zero)
            }
        }
        defer { time.cancel() }
        return try await work()
    }
}
