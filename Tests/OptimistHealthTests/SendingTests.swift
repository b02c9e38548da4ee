// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistSession
import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistCore
@testable import OptimistHealth

/// When totals are sent, and the effect of a lost answer.
@Suite(.timeLimit(.minutes(20)))
struct SendingTests {
    private func schedule(_ path: NetworkPath? = NetworkPath(isOnline: true), expensive: Bool = false) -> SendSchedule {
        var schedule = SendSchedule(
            path: path, backoff: Backoff(), allowsExpensive: expensive, randomness: SplitMix64(seed: 1))
        schedule.found(work: true)
        return schedule
    }

    @Test func `A3 nothing is sent on an expensive network or before the network is known`() {
        var unknown = schedule(nil)
        #expect(unknown.next == .wait(nil))
        unknown.moved(to: NetworkPath(isOnline: true, isExpensive: true))
        #expect(unknown.next == .wait(nil))
        unknown.moved(to: NetworkPath(isOnline: true, isConstrained: true))
        #expect(unknown.next == .wait(nil))
        unknown.moved(to: NetworkPath(isOnline: true))
        #expect(unknown.next == .send)
        #expect(schedule(NetworkPath(isOnline: true, isExpensive: true), expensive: true).next == .send)
    }

    @Test func `A3 after a failure, the next attempt waits for the backoff and the server's Retry-After`() {
        var failed = schedule()
        failed.answered(.failed(retryAfter: .seconds(90)))
        #expect(failed.next == .wait(.seconds(90)))
        failed.waited(.seconds(30))
        #expect(failed.next == .wait(.seconds(60)))
        failed.waited(.seconds(60))
        #expect(failed.next == .send)
        failed.answered(.failed(retryAfter: nil))
        guard case .wait(let pause?) = failed.next else {
            Issue.record("The sender does not wait.")
            return
        }
        #expect(pause <= .seconds(1))
    }

    @Test func `A3 coming online ends the wait after a failure, and a refusal waits a day`() {
        var failed = schedule()
        failed.answered(.failed(retryAfter: .seconds(90)))
        failed.moved(to: NetworkPath(isOnline: false))
        failed.moved(to: NetworkPath(isOnline: true))
        #expect(failed.next == .send)
        failed.answered(.refused)
        #expect(failed.next == .wait(.seconds(86_400)))
    }

    @Test func `A2 after a lost answer, the same totals are sent once more`() async throws {
        let app = Installation()
        let answers = Mutex(0)
        let transport = InMemoryTransport(dependencies: Dependencies(clock: app.clock)) { _ in
            if answers.withLock({
                $0 += 1
                return $0
            }) == 1 {
                throw TransportError(.broken, .maybeProcessed)
            }
            return TransportResponse(.ok, "{}")
        }
        let health = try app.launch(transport: transport)
        try await health.countEarlierLaunches()
        #expect(await !health.sendOnce())
        #expect(await health.sendOnce())
        #expect(health.unsent()?.totals.isEmpty == true)
        let bodies = transport.requests.map(\.body)
        #expect(bodies.count == 2 && bodies[0] == bodies[1])
        let report = try HealthReport(json: JSON(parsing: bodies[0]))
        #expect(report.app == "campus" && report.totals.map(\.launches) == [1])
        #expect(transport.requests[0].head.path == "/health/reports")
        #expect(transport.requests[0].head.headerFields[.authorization] == nil)
    }

    @Test func `A3 in the background, a timer repeats a failed attempt`() async throws {
        let app = Installation()
        let count = Mutex(0)
        let (sent, continuation) = AsyncStream<Int>.makeStream()
        let transport = InMemoryTransport { _ in
            let number = count.withLock {
                $0 += 1
                return $0
            }
            continuation.yield(number)
            return TransportResponse(number < 3 ? .serviceUnavailable : .ok, "{}")
        }
        let health = try app.launch(transport: transport)
        let running = Task { await health.run() }
        for await number in sent {
            if number == 3 { break }
            await app.clock.sleepers(atLeast: 1)
            app.clock.advance(by: .seconds(5))
        }
        running.cancel()
        await running.value
        #expect(count.withLock(\.self) == 3)
    }

    @Test func `A3 a server without TLS receives nothing`() async throws {
        let app = Installation()
        let transport = InMemoryTransport { _ in TransportResponse(.ok, "{}") }
        let health = try AppHealth(
            HealthConfiguration(
                app: "campus", salt: "s", version: AppVersion("1", build: "1"), at: app.directory,
                server: URL(string: "http://sync.example.org")), transport: transport)
        try await health.countEarlierLaunches()
        #expect(await !health.sendOnce())
        #expect(transport.requests.isEmpty)
    }
}
