// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistSession
import OptimistTesting
import Testing

@testable import OptimistCore

/// How requests end at their deadline, and how their failures affect others.
@Suite(.timeLimit(.minutes(20)))
struct SessionDeadlineTests {
    private func failure(_ work: () async throws -> some Sendable) async -> TransportError? {
        do {
            _ = try await work()
            return nil
        } catch { return error as? TransportError }
    }

    @Test func `a request that never left the queue counts as not sent`() async throws {
        let bench = Bench(configuration: SessionConfiguration(slots: 1))
        let door = Door()
        bench.server.onRequest {
            await door.pass()
            return TransportResponse(.ok)
        }
        let first = Task { try await bench.session.send(SessionRequest("/rows", deadline: .seconds(3600))) }
        await door.knock()
        let second = Task {
            try await bench.session.send(SessionRequest("/rows", method: .post, deadline: .seconds(10)))
        }
        await bench.clock.sleepers(atLeast: 2)
        bench.clock.advance(by: .seconds(10))
        let error = await failure { try await second.value }
        #expect(error?.kind == .timedOut)
        #expect(error?.phase == .notSent)
        door.open()
        _ = try await first.value
        #expect(bench.server.sends("/rows") == 1)
    }

    @Test func `a background request that was offline until its deadline counts as not sent`() async throws {
        let bench = Bench()
        for _ in 0..<1000 { bench.server.onRequest { throw TransportError(.unreachable, .notSent) } }
        let request = SessionRequest("/rows", method: .post, urgency: .background, deadline: .seconds(60))
        let error = await failure {
            try await bench.whileTimePasses(asleep: 2) { try await bench.session.send(request) }
        }
        #expect(error?.kind == .timedOut)
        #expect(error?.phase == .notSent)
    }

    @Test func `a request in flight at its deadline may have been processed`() async throws {
        let bench = Bench()
        let door = Door()
        bench.server.onRequest {
            await door.pass()
            return TransportResponse(.ok)
        }
        let call = Task { try await bench.session.send(SessionRequest("/rows", method: .post, deadline: .seconds(10))) }
        await door.knock()
        await bench.clock.sleepers(atLeast: 1)
        bench.clock.advance(by: .seconds(10))
        #expect(await failure { try await call.value }?.phase == .maybeProcessed)
        door.open()
    }

    @Test func `if an earlier attempt may have arrived, the error does not report the request as unsent`() async throws
    {
        let bench = Bench()
        bench.server.onRequest { throw TransportError(.broken, .maybeProcessed) }
        bench.server.onRequest { throw TransportError(.refused, .notSent) }
        let request = SessionRequest("/rows", attempts: 2)
        let error = await failure {
            try await bench.whileTimePasses(asleep: 2) { try await bench.session.send(request) }
        }
        #expect(error?.kind == .refused)
        #expect(error?.phase == .maybeProcessed)
    }

    @Test(arguments: [SessionRequest.Urgency.interactive, .background])
    func `T7: a Retry-After past the deadline returns the answer immediately`(urgency: SessionRequest.Urgency)
        async throws
    {
        let bench = Bench()
        bench.server.onRequest { TransportResponse(.tooManyRequests, headerFields: [.retryAfter: "20"]) }
        let request = SessionRequest("/rows", urgency: urgency, deadline: .seconds(10))
        #expect(try await bench.session.send(request).head.status == .tooManyRequests)
        #expect(bench.clock.elapsed == .zero)
    }

    private static let harmless: [(SessionRequest, TransportError)] = [
        (SessionRequest("/rows"), TransportError(.unreachable, .notSent)),
        (SessionRequest("/rows", method: .post), TransportError(.refused, .notSent)),
        (SessionRequest("/rows"), TransportError(.untrusted, .notSent)),
        (SessionRequest("/rows"), TransportError(.tooLarge, .responseStarted)),
        (SessionRequest("/rows", method: .post), TransportError(.broken, .maybeProcessed)),
        (SessionRequest("/rows", attempts: 1), TransportError(.broken, .maybeProcessed)),
    ]

    @Test(arguments: harmless)
    func `T7: a failure that reached no server or is not retried leaves the host's budget unchanged`(
        _ failing: (request: SessionRequest, error: TransportError)
    ) async throws {
        let bench = Bench(configuration: SessionConfiguration(retryBackoff: Backoff(base: .zero)))
        for _ in 0..<20 {
            for _ in 0..<3 { bench.server.onRequest { throw failing.error } }
            #expect(await failure { try await bench.session.send(failing.request) } != nil)
            bench.server.books.withLock { $0.answers = [] }
        }
        let before = bench.server.sends("/rows")
        bench.server.onRequest { TransportResponse(.serviceUnavailable) }
        #expect(try await bench.session.send(SessionRequest("/rows")).head.status == .ok)
        #expect(bench.server.sends("/rows") == before + 2)
    }

    @Test func `each kind of transport error has its own message`() {
        let kinds: [TransportError.Kind] = [
            .refused, .unresolvable, .unreachable, .untrusted, .timedOut, .broken, .tooLarge, .unsupported,
            .alreadyRead,
        ]
        let sentences = kinds.map { TransportError($0, .maybeProcessed).localizedDescription }
        #expect(Set(sentences).count == kinds.count)
        for (kind, sentence) in zip(kinds, sentences) {
            #expect(sentence.hasSuffix(".") && !sentence.contains("transport"))
            #expect(TransportError(kind, .notSent).description.contains("\(kind)"))
        }
    }
}
