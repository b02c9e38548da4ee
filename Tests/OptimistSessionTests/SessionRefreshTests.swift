// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistTesting
import Testing

@testable import OptimistCore
@testable import OptimistSession

@Suite(.timeLimit(.minutes(20)))
struct SessionRefreshTests {
    @Test func `T1: a thousand requests with an expired token cost one refresh and one slotful of extra sends`()
        async
    {
        let bench = Bench()
        bench.server.refuse(upTo: 1)
        let results = await bench.send(1000)
        #expect(results.allSatisfy { $0.value == 200 })
        #expect(bench.server.refreshes == 1)
        #expect(bench.server.sends("/rows") <= 1006)
    }

    @Test func `T1: a request refused with an older token is sent again without a refresh`() async throws {
        let bench = Bench()
        let door = Door()
        bench.server.onRequest {
            await door.pass()
            return TransportResponse(.unauthorized)
        }
        async let slow = bench.session.send(SessionRequest("/slow"))
        await door.knock()
        bench.server.refuse(upTo: 1)
        _ = try await bench.session.send(SessionRequest("/rows"))
        #expect(bench.server.refreshes == 1)
        door.open()
        #expect(try await slow.head.status == .ok)
        #expect(bench.server.refreshes == 1)
    }

    @Test func `T2: a token refused right after a refresh starts no other refresh`() async {
        let bench = Bench()
        bench.server.refuse(upTo: .max)
        let results = await bench.send(100)
        #expect(results.allSatisfy { $0.error?.code == .credentialRefused })
        #expect(bench.server.refreshes == 1)
        #expect(bench.server.sends("/rows") <= 106)
        guard case .degraded = bench.session.state else {
            Issue.record("the session does not say why: \(bench.session.state)")
            return
        }
    }

    @Test func `T2: a request that is always refused costs one refresh, and others succeed`() async throws {
        let bench = Bench()
        for _ in 0..<2 { bench.server.onRequest { TransportResponse(.unauthorized) } }
        await #expect { try await bench.session.send(SessionRequest("/forbidden")) } throws: {
            ($0 as? OptimistError)?.code == .credentialRefused
        }
        #expect(bench.server.refreshes == 1)
        #expect(try await bench.session.send(SessionRequest("/rows")).head.status == .ok)
        #expect(bench.session.state == .active(Credentials.first.account))
    }

    @Test(arguments: [
        (#"{"error":"invalid_grant","reason":"refresh_expired"}"#, SignOutReason.refreshExpired),
        (#"{"error":"invalid_grant","reason":"signed_in_elsewhere"}"#, .signedInElsewhere),
        (#"{"error":"invalid_grant","reason":"revoked"}"#, .revoked),
        (#"{"error":"invalid_grant","reason":"reuse_detected"}"#, .reuseDetected),
        (#"{"error":"invalid_grant"}"#, .refused),
    ])
    func `T3: a terminal answer ends the session once, for all requests, and erases the credentials`(
        body: String, reason: SignOutReason
    ) async throws {
        let store = WatchedStore(.first)
        let bench = Bench(store: store)
        bench.server.refuse(upTo: 1)
        bench.server.onRefresh { TransportResponse(.badRequest, body) }
        let states = Task { [session = bench.session] in
            var seen: [SessionState] = []
            for await state in session.states {
                seen.append(state)
                if case .signedOut = state { break }
            }
            return seen
        }
        let results = await bench.send(50)
        #expect(results.allSatisfy { $0.error?.signOutReason == reason })
        #expect(bench.server.refreshes == 1)
        #expect(bench.server.sends("/rows") <= 6)
        #expect(await states.value.last == .signedOut(reason))
        let sends = bench.transport.requests.count
        let late = await bench.send(10)
        #expect(late.allSatisfy { $0.error?.remedy == .signIn })
        #expect(bench.transport.requests.count == sends)
        await store.erased.pass()
        #expect(store.load() == nil)
        #expect(bench.session.state == .signedOut(reason))
    }

    @Test func `T3 a token endpoint that refuses with 200 ends the session`() async {
        let bench = Bench()
        bench.server.refuse(upTo: 1)
        bench.server.onRefresh { TransportResponse(.ok, #"{"error":"invalid_grant","reason":"revoked"}"#) }
        #expect(await bench.send(1).first?.error?.signOutReason == .revoked)
        let own = ResponseRules(
            request: { head, _ in head.status == .unauthorized ? .tokenRefused : .nothing },
            refresh: { _, body in
                String(decoding: body, as: UTF8.self).contains("bad_refresh_token") ? .ended(.refused) : .nothing
            })
        let other = Bench(configuration: SessionConfiguration(responseRules: own))
        other.server.refuse(upTo: 1)
        other.server.onRefresh { TransportResponse(.ok, #"{"error":"bad_refresh_token"}"#) }
        #expect(await other.send(1).first?.error?.signOutReason == .refused)
    }

    @Test(arguments: [-7200, 7200], [0.01, 10])
    func `T5 a server machine with a wrong clock costs one refresh, not one per request`(
        error: Int, step: Double
    ) async throws {
        let bench = Bench(signedIn: false)
        let count = Mutex(0)
        bench.server.stamp { time in
            let isWrong = count.withLock { count in
                count += 1
                return count % 2 == 0
            }
            return HTTPDate.format(time + (isWrong ? TimeInterval(error) : 0))
        }
        try await bench.session.signIn(email: "ada@example.com", password: "secret")
        for _ in 0..<300 {
            bench.clock.advance(by: .seconds(step))
            _ = try await bench.session.send(SessionRequest("/rows"))
            while case .refreshing = bench.session.state { await Task.yield() }
        }
        let lives = Int(300 * step / 840)
        #expect(bench.server.refreshes <= lives + 1)
    }

    @Test func `T2 a server machine that refuses every token costs ever fewer refreshes`() async {
        let bench = Bench()
        let count = Mutex(0)
        for _ in 0..<2_000 {
            bench.server.onRequest {
                let isRefusing = count.withLock { count in
                    count += 1
                    return count % 2 == 0
                }
                return TransportResponse(isRefusing ? .unauthorized : .ok)
            }
        }
        for _ in 0..<300 {
            bench.clock.advance(by: .seconds(1))
            #expect(await bench.send(1).first?.value == 200)
        }
        #expect(bench.server.refreshes <= 12)
    }

    @Test func `T2 a token that ends early is replaced, even if earlier tokens ended early`()
        async
    {
        let bench = Bench()
        var failures = 0
        for life in 1...20 {
            bench.server.refuse(upTo: bench.server.generation)
            for _ in 0..<10 {
                bench.clock.advance(by: .seconds(3))
                if await bench.send(1).first?.value != 200 { failures += 1 }
            }
            #expect(bench.server.refreshes == life)
        }
        #expect(failures <= 20)
    }

    @Test(arguments: ["body", "header"])
    func `T3: a 401 with one of the server's reasons ends the session without a refresh`(place: String) async {
        let bench = Bench()
        bench.server.onRequest {
            place == "body"
                ? TransportResponse(.unauthorized, #"{"error":"invalid_token","reason":"revoked"}"#)
                : TransportResponse(
                    .unauthorized,
                    headerFields: [.wwwAuthenticate: #"Bearer realm="rows", error="invalid_token", reason="revoked""#])
        }
        #expect(await bench.send(1).first?.error?.signOutReason == .revoked)
        #expect(bench.server.refreshes == 0)
    }

    @Test(arguments: [
        (401, 402, SignOutReason.refreshExpired), (401, 499, .signedInElsewhere), (499, 0, .signedInElsewhere),
        (402, 0, .refreshExpired),
    ])
    func `T3: a server that uses 401, 402 and 499 needs only other response rules`(
        first: Int, onRefresh: Int, reason: SignOutReason
    ) async {
        let answers = ResponseRules.byStatus([
            401: .tokenRefused, 402: .ended(.refreshExpired), 499: .ended(.signedInElsewhere),
        ])
        let bench = Bench(configuration: SessionConfiguration(responseRules: answers))
        bench.server.onRequest { TransportResponse(HTTPResponse.Status(code: first)) }
        bench.server.onRefresh { TransportResponse(HTTPResponse.Status(code: onRefresh)) }
        #expect(await bench.send(1).first?.error?.signOutReason == reason)
    }

    @Test func `T3: a captive portal's 200 or a 400 without a grant error is not terminal`() async {
        for answer in ["<html>Welcome to our hotel</html>", "{}"] {
            let bench = Bench()
            bench.server.refuse(upTo: 1)
            bench.server.onRefresh { TransportResponse(answer == "{}" ? .badRequest : .ok, answer) }
            #expect(await bench.send(1).first?.error?.code == .refreshPostponed)
            #expect(bench.session.account != nil)
        }
    }

    @Test func `T3: tokens that another process fetched are used, even if the server refuses the old ones`()
        async throws
    {
        let bench = Bench()
        bench.server.refuse(upTo: 1)
        _ = try await bench.session.send(SessionRequest("/rows"))
        #expect(bench.server.generation == 2)
        bench.clock.advance(by: .seconds(2))
        var theirs = Credentials.first
        theirs.accessToken = Secret("access-3")
        theirs.refreshToken = Secret("refresh-3")
        try bench.store.save(theirs)
        bench.server.books.withLock { $0.generation = 3 }
        bench.server.refuse(upTo: 2)
        #expect(try await bench.session.send(SessionRequest("/rows")).head.status == .ok)
        #expect(bench.session.state == .active(Credentials.first.account))
    }

    @Test(arguments: ["network", "500", "429"])
    func `T4: a temporary refresh failure keeps the user signed in and is not repeated too early`(kind: String)
        async throws
    {
        let bench = Bench()
        bench.server.refuse(upTo: 1)
        bench.server.onRefresh {
            switch kind {
            case "network": throw TransportError(.unreachable, .notSent)
            case "500": TransportResponse(.internalServerError)
            default: TransportResponse(.tooManyRequests, headerFields: [.retryAfter: "7"])
            }
        }
        let failed = await bench.send(20)
        #expect(failed.allSatisfy { $0.error?.code == .refreshPostponed })
        #expect(bench.server.refreshes == 1)
        #expect(try bench.store.load() == .first)
        guard case .degraded(_, let due) = bench.session.state else {
            Issue.record("not degraded: \(bench.session.state)")
            return
        }
        let wait = due.timeIntervalSince1970 - 1_800_000_000
        #expect(kind == "429" ? wait == 7 : wait > 0 && wait <= 0.5)
        #expect(await bench.send(1).first?.error?.code == .refreshPostponed)
        #expect(bench.server.refreshes == 1)
        bench.clock.advance(by: .seconds(wait + 0.001))
        #expect(await bench.send(1).first?.value == 200)
        #expect(bench.server.refreshes == 2)
        #expect(bench.session.state == .active(Credentials.first.account))
    }

    @Test func `T5: a token about to expire is replaced early, and requests continue with the old one`() async throws {
        let bench = Bench(signedIn: false)
        try await bench.session.signIn(email: "ada@example.com", password: "secret")
        bench.clock.advance(by: .seconds(839))
        _ = try await bench.session.send(SessionRequest("/rows"))
        #expect(bench.server.refreshes == 0)
        bench.clock.advance(by: .seconds(2))
        let door = Door()
        bench.server.onRefresh {
            await door.pass()
            return TransportResponse(.internalServerError)
        }
        #expect(try await bench.session.send(SessionRequest("/rows")).head.status == .ok)
        #expect(bench.session.state == .refreshing(Credentials.first.account))
        door.open()
        await bench.reaches { if case .degraded = $0 { true } else { false } }
        #expect(try await bench.session.send(SessionRequest("/rows")).head.status == .ok)
    }

    @Test func `T4: background requests wait out failed refreshes and are sent after the renewal`() async {
        let bench = Bench()
        bench.server.refuse(upTo: 1)
        for _ in 0..<3 { bench.server.onRefresh { TransportResponse(.internalServerError) } }
        async let background = bench.send(3, SessionRequest("/rows", urgency: .background))
        for _ in 0..<3 {
            await bench.reaches { if case .degraded = $0 { true } else { false } }
            #expect(await bench.send(1).first?.error?.code == .refreshPostponed)
            await bench.clock.sleepers(atLeast: 2)
            bench.clock.advance(by: .seconds(3))
        }
        #expect(await background.map(\.value) == [200, 200, 200])
        #expect(bench.server.refreshes == 4)
    }

    @Test(arguments: [-31_536_000, 31_536_000])
    func `T5: expiry follows the server's clock instead of the device's, after a relaunch as well`(error: Double)
        async throws
    {
        let server = FakeServer()
        let clock = ManualClock()
        var kept = Credentials.first
        kept.expiresAt = Date(timeIntervalSince1970: 1_800_000_900)
        kept.lifetime = .seconds(900)
        let transport = InMemoryTransport.unhurried { request in
            var answer = try await server.handle(request)
            answer.head.headerFields[.date] =
                clock.elapsed < .seconds(100) ? "Fri, 15 Jan 2027 08:00:00 GMT" : "Fri, 15 Jan 2027 08:14:10 GMT"
            return answer
        }
        let store = InMemoryCredentialStore(kept)
        func launch() -> Session {
            Session(
                server: Bench.address, transport: transport, credentials: store,
                dependencies: Dependencies(
                    clock: clock,
                    now: { Date(timeIntervalSince1970: 1_800_000_000 + error + clock.elapsed / .seconds(1)) }, seed: 7))
        }
        var session = launch()
        _ = try await session.send(SessionRequest("/rows"))
        let early = server.refreshes
        for _ in 0..<3 { _ = try await session.send(SessionRequest("/rows")) }
        #expect(server.refreshes == early, "the token is good for another 15 minutes")
        clock.advance(by: .seconds(850))
        _ = try await session.send(SessionRequest("/rows"))
        while session.state != .active(kept.account) || server.refreshes == early { await Task.yield() }
        #expect(server.refreshes == early + 1)
        session = launch()
        _ = try await session.send(SessionRequest("/rows"))
        #expect(session.state == .active(kept.account) && server.refreshes == early + 1)
    }
}
