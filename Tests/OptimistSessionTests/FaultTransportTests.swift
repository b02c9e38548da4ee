// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistTesting
import Testing

@testable import OptimistCore
@testable import OptimistSession

@Suite(.timeLimit(.minutes(20)))
struct FaultTransportTests {
    let server = InMemoryTransport { _ in
        TransportResponse(.ok, "hello", headerFields: [.date: "Fri, 15 Jan 2027 08:00:00 GMT"])
    }
    let clock = ManualClock()
    let faults: FaultTransport

    init() { faults = FaultTransport(server, clock: clock, seed: 1) }

    private func send(_ fault: HTTPFault?) async throws -> (HTTPResponse, String) {
        faults.next(fault)
        let request = TransportRequest(
            head: HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/"))
        let answer = try await faults.send(request)
        return (answer.head, String(decoding: try await answer.body.collect(upTo: 1_000), as: UTF8.self))
    }

    @Test(arguments: [
        (HTTPFault.refused, "refused", TransportError.Phase.notSent, 0),
        (.unreachable, "unreachable", .notSent, 0), (.requestLost, "broken", .maybeProcessed, 0),
        (.answerLost, "broken", .maybeProcessed, 1), (.brokenBody(afterBytes: 2), "broken", .responseStarted, 1),
    ])
    func `a request without a complete answer reports its phase and whether it reached the server`(
        fault: HTTPFault, kind: String, phase: TransportError.Phase, reached: Int
    ) async throws {
        await #expect { try await send(fault) } throws: {
            let error = $0 as? TransportError
            return error?.kind.description == kind && error?.phase == phase
        }
        #expect(server.requests.count == reached)
        #expect(faults.counts == [fault: 1])
        #expect(try await send(nil).1 == "hello")
    }

    @Test func `a stalled request times out when its head is due`() async throws {
        let answer = Task { [self] in try await send(.stalled) }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(15))
        await #expect { try await answer.value } throws: { ($0 as? TransportError)?.kind == .timedOut }
    }

    @Test func `latency counts toward the head's timeout`() async throws {
        let clock = ManualClock()
        let transport = FaultTransport(
            InMemoryTransport { _ in TransportResponse(.ok) },
            conditions: FaultConditions(latency: .seconds(20) ... .seconds(20)), clock: clock, seed: 1)
        let head = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/")
        let answer = Task { try await transport.send(TransportRequest(head: head, headTimeout: .seconds(15))).head }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(15))
        await #expect { try await answer.value } throws: { ($0 as? TransportError)?.kind == .timedOut }
    }

    @Test func `a truncated body ends without an error, and a duplicated request arrives twice`() async throws {
        #expect(try await send(.truncatedBody(afterBytes: 2)).1 == "he")
        #expect(try await send(.duplicated).1 == "hello")
        #expect(server.requests.count == 3)
    }

    @Test func `simulated answers do not reach the server`() async throws {
        #expect(try await send(.captivePortal).0.headerFields[.contentType] == "text/html")
        #expect(try await send(.busy(retryAfter: 7)).0.headerFields[.retryAfter] == "7")
        #expect(try await send(.tokenRefused).0.status == .unauthorized)
        let ended = try await send(.ended(.signedInElsewhere))
        #expect(ResponseRules.optimist.request(ended.0, Array(ended.1.utf8)) == .ended(.signedInElsewhere))
        #expect(server.requests.isEmpty)
    }

    @Test func `a clock that is ahead shows in the answer's date`() async throws {
        #expect(try await send(.clockAhead(seconds: 3_600)).0.headerFields[.date] == "Fri, 15 Jan 2027 09:00:00 GMT")
    }

    @Test func `the same seed produces the same faults`() async throws {
        func run(_ seed: UInt64) async -> [HTTPFault: Int] {
            let faults = FaultTransport(server, conditions: .tokenStorm, clock: clock, seed: seed)
            let head = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/")
            for _ in 0..<200 { _ = try? await faults.send(TransportRequest(head: head)) }
            return faults.counts
        }
        let first = await run(3)
        #expect(await run(3) == first)
        #expect((60...140).contains(first[.tokenRefused] ?? 0))
    }

    @Test
    func `T2 T4: in a storm of refused tokens and lost requests, every request ends and the user stays signed in`()
        async throws
    {
        let bench = FakeServer()
        let transport = FaultTransport(
            InMemoryTransport { try await bench.handle($0) },
            conditions: FaultConditions(chances: [.tokenRefused: 0.1, .requestLost: 0.3]), seed: 5)
        let session = Session(
            server: Bench.address, transport: transport, credentials: InMemoryCredentialStore(.first),
            configuration: SessionConfiguration(
                refreshBackoff: Backoff(base: .zero), retryBackoff: Backoff(base: .zero)),
            dependencies: Dependencies(seed: 1))
        var answered = 0
        for _ in 0..<100 where (try? await session.send(SessionRequest("/rows")))?.head.status == .ok {
            answered += 1
        }
        #expect(answered > 20)
        #expect(session.account == Credentials.first.account)
        #expect(transport.requestCount < 700)
    }
}
