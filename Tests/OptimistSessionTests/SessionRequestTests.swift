// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistSession
import OptimistTesting
import Testing

@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct SessionRequestTests {
    @Test func `relative targets are sent to the server, with the token and the query`() async throws {
        let bench = Bench()
        _ = try await bench.session.send(SessionRequest("/jmap?a=%2F", method: .post, body: [1, 2]))
        let request = try #require(bench.transport.requests.first)
        #expect(request.head.scheme == "http")
        #expect(request.head.authority == "localhost:8080")
        #expect(request.head.path == "/jmap?a=%2F")
        #expect(request.head.headerFields[.authorization] == "Bearer access-1")
        #expect(request.body == [1, 2])
    }

    @Test(arguments: [
        "https://localhost:8080/rows", "http://localhost:8081/rows", "http://elsewhere.example/rows",
        "//elsewhere.example/rows", "http://localhost:8080@elsewhere.example/rows", "file:///etc/passwd",
    ])
    func `credentials are sent to no other origin`(target: String) async {
        let bench = Bench()
        #expect(await bench.send(1, SessionRequest(target)).first?.error?.code == .foreignOrigin)
        #expect(bench.transport.requests.isEmpty)
    }

    @Test(arguments: ["http://example.com", "http://127.0.0.1.example.com", "http://localhost.example.com"])
    func `credentials are not sent in plain text to another machine`(server: String) async {
        let transport = InMemoryTransport.unhurried { _ in TransportResponse(.ok) }
        let session = Session(server: URL(string: server)!, transport: transport, credentials: .inMemory)
        await #expect { try await session.signIn(email: "ada@example.com", password: "secret") } throws: {
            ($0 as? OptimistError)?.code == .plaintextRefused
        }
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: [
        "api.example.org", "//api.example.org", "https:", "https:///rows", "/rows", "https://api.example.org/v1",
        "https://api.example.org?a=b", "https://api.example.org/#top", "https://ada@api.example.org",
    ])
    func `an address with more than scheme, host and port is an error with an example`(server: String) async {
        let transport = InMemoryTransport.unhurried { _ in TransportResponse(.ok) }
        let session = Session(server: URL(string: server)!, transport: transport, credentials: .inMemory)
        await #expect { try await session.signIn(email: "ada@example.com", password: "secret") } throws: {
            let error = $0 as? OptimistError
            return error?.code == .badServerAddress && error?.message.contains("such as https://") == true
        }
        #expect(transport.requests.isEmpty)
    }

    private static let onLocalNetwork = [
        "http://10.0.0.7:8080", "http://172.16.0.1", "http://172.31.255.255", "http://192.168.1.20:8080",
        "http://169.254.3.4", "http://[fd12:3456::1]:8080", "http://[fe80::1]", "http://adas-mac.local:8080",
    ]

    private static let elsewhere = [
        "http://example.com", "http://8.8.8.8", "http://172.32.0.1", "http://192.169.0.1", "http://11.0.0.1",
        "http://010.0.0.1", "http://10.0.0.1.example.com", "http://local", "http://adas-mac.local.example.com",
        "http://[2001:db8::1]", "http://[::ffff:192.168.1.1]", "http://100.64.0.1",
    ]

    private func signIn(to server: String, allowsPlainHTTP: Bool) async throws {
        let transport = InMemoryTransport.unhurried { _ in .tokens("1", account: "a1") }
        let session = Session(
            server: try #require(URL(string: server)), transport: transport, credentials: .inMemory,
            configuration: SessionConfiguration(allowsPlainHTTPToPrivateAddresses: allowsPlainHTTP))
        try await session.signIn(email: "ada@example.com", password: "secret")
    }

    @Test(arguments: onLocalNetwork)
    func `plain http to a private address needs the development setting`(server: String) async throws {
        try await signIn(to: server, allowsPlainHTTP: true)
        await #expect { try await signIn(to: server, allowsPlainHTTP: false) } throws: {
            guard let error = $0 as? OptimistError else { return false }
            return error.code == .plaintextRefused && error.message.contains("allowsPlainHTTPToPrivateAddresses")
        }
    }

    @Test(arguments: elsewhere)
    func `the development setting allows plain http to private addresses only`(server: String) async {
        await #expect { try await signIn(to: server, allowsPlainHTTP: true) } throws: {
            ($0 as? OptimistError)?.code == .plaintextRefused
        }
    }

    @Test(arguments: ["Host", "host"])
    func `a request with its own Host field is not sent`(name: String) async throws {
        let bench = Bench()
        let fields: HTTPFields = [try #require(HTTPField.Name(name)): "elsewhere.example"]
        let result = await bench.send(1, SessionRequest("/rows", headerFields: fields)).first
        #expect(result?.error?.code == .foreignOrigin)
        #expect(bench.transport.requests.isEmpty)
    }

    @Test func `T7: whether a request is repeatable is decided by its method and key when it is sent`() async throws {
        var request = SessionRequest("/rows")
        request.method = .post
        #expect(!request.isRepeatable)
        let bench = Bench()
        for _ in 0..<3 { bench.server.onRequest { throw TransportError(.broken, .maybeProcessed) } }
        #expect(await bench.send(1, request).first?.value == nil)
        #expect(bench.server.sends("/rows") == 1)
        request.idempotencyKey = "order-7"
        #expect(request.isRepeatable)
        request.idempotencyKey = nil
        #expect(!request.isRepeatable)
        request.isRepeatable = true
        #expect(request.isRepeatable)
    }

    @Test func `T2: a 401 from the endpoint itself is the error's cause, with its body`() async throws {
        let bench = Bench()
        for _ in 0..<3 { bench.server.onRequest { TransportResponse(.unauthorized, "wrong PIN") } }
        // The first is refused with a renewed token; the second before another renewal is allowed.
        for code in [OptimistError.Code.credentialRefused, .credentialRefused] {
            let error = try #require(await bench.send(1).first?.error)
            #expect(error.code == code)
            let answer = try #require(error.cause as? RefusedAnswer)
            #expect(answer.head.status == .unauthorized)
            #expect(answer.body == Array("wrong PIN".utf8))
            #expect(!String(reflecting: error).contains("PIN"))
        }
    }

    @Test func `T7: a safe request is sent three times with pauses before its answer is returned`() async throws {
        let bench = Bench()
        for _ in 0..<3 { bench.server.onRequest { TransportResponse(.serviceUnavailable) } }
        async let result = bench.send(1)
        for _ in 0..<2 {
            await bench.clock.sleepers(atLeast: 2)
            bench.clock.advance(by: .seconds(1))
        }
        #expect(await result.first?.value == 503)
        #expect(bench.server.sends("/rows") == 3)
    }

    @Test(arguments: [
        (SessionRequest("/rows", method: .post), TransportError.Phase.maybeProcessed, 1),
        (SessionRequest("/rows", method: .post), .notSent, 2),
        (SessionRequest("/rows", method: .post, isRepeatable: true), .maybeProcessed, 2),
        (SessionRequest("/rows"), .responseStarted, 2),
        (SessionRequest("/rows", attempts: 1), .notSent, 1),
    ])
    func `T7: after a broken connection, only safe requests are sent again`(
        request: SessionRequest, phase: TransportError.Phase, sends: Int
    ) async throws {
        let bench = Bench()
        bench.server.onRequest { throw TransportError(.broken, phase) }
        async let result = bench.send(1, request)
        if sends > 1 {
            await bench.clock.sleepers(atLeast: 2)
            bench.clock.advance(by: .seconds(1))
        }
        #expect(await (result.first?.value == 200) == (sends == 2))
        #expect(bench.server.sends("/rows") == sends)
    }

    @Test(arguments: ["7", "Fri, 15 Jan 2027 08:00:07 GMT"])
    func `T7: a request with Retry-After is retried at that time and not before`(retryAfter: String) async throws {
        let bench = Bench()
        bench.server.onRequest {
            TransportResponse(.serviceUnavailable, headerFields: [.retryAfter: retryAfter])
        }
        async let status = bench.session.send(SessionRequest("/rows")).head.status
        await bench.clock.sleepers(atLeast: 2)
        bench.clock.advance(by: .milliseconds(6_900))
        for _ in 0..<100 { await Task.yield() }
        #expect(bench.server.sends("/rows") == 1)
        bench.clock.advance(by: .milliseconds(101))
        #expect(try await status == .ok)
    }

    @Test func `T7: an answer with a Retry-After of an hour is returned immediately`() async throws {
        let bench = Bench()
        bench.server.onRequest { TransportResponse(.tooManyRequests, headerFields: [.retryAfter: "3600"]) }
        #expect(try await bench.session.send(SessionRequest("/rows")).head.status == .tooManyRequests)
    }

    @Test func `T7: a request with one attempt is still sent again after a refresh`() async {
        let bench = Bench()
        bench.server.refuse(upTo: 1)
        #expect(await bench.send(1, SessionRequest("/rows", method: .post, attempts: 1)).first?.value == 200)
    }

    @Test func `T7: a request with a key is sent again with the same key`() async throws {
        let bench = Bench()
        bench.server.onRequest { throw TransportError(.broken, .maybeProcessed) }
        async let result = bench.send(1, SessionRequest("/rows", method: .post, idempotencyKey: "order-7"))
        await bench.clock.sleepers(atLeast: 2)
        bench.clock.advance(by: .seconds(1))
        #expect(await result.first?.value == 200)
        let name = try #require(HTTPField.Name("Idempotency-Key"))
        #expect(bench.transport.requests.map { $0.head.headerFields[name] } == [#""order-7""#, #""order-7""#])
    }

    @Test
    func
        `T7: background requests retry without limit while the server is unreachable, and at once when the network returns`()
        async throws
    {
        let bench = Bench()
        for _ in 0..<5 { bench.server.onRequest { throw TransportError(.unreachable, .notSent) } }
        let request = SessionRequest("/rows", method: .post, urgency: .background, deadline: .seconds(3600))
        async let result = bench.send(1, request)
        for _ in 0..<4 {
            await bench.clock.sleepers(atLeast: 2)
            bench.clock.advance(by: .seconds(60))
        }
        // The network ends the last pause, not the clock.
        while bench.server.sends("/rows") < 6 {
            bench.reachability.update(isOnline: false)
            await Task.yield()
            bench.reachability.update(isOnline: true)
            await Task.yield()
        }
        #expect(await result.first?.value == 200)
    }

    @Test func `T7: retries do not multiply an outage`() async {
        let server = Mutex(0)
        let clock = ManualClock()
        let transport = InMemoryTransport.unhurried { _ in
            server.withLock { $0 += 1 }
            throw TransportError(.broken, .maybeProcessed)
        }
        let session = Session(
            server: Bench.address, transport: transport, credentials: InMemoryCredentialStore(.first),
            configuration: SessionConfiguration(retryBackoff: Backoff(base: .zero)),
            dependencies: Dependencies(clock: clock, seed: 1))
        for _ in 0..<50 { _ = try? await session.send(SessionRequest("/rows")) }
        #expect(server.withLock { $0 } < 60)
    }

    @Test func `the deadline covers the complete call`() async throws {
        let clock = ManualClock()
        let transport = InMemoryTransport.unhurried { _ in
            try await clock.sleep(for: .seconds(1000))
            return TransportResponse(.ok)
        }
        let session = Session(
            server: Bench.address, transport: transport, credentials: InMemoryCredentialStore(.first),
            dependencies: Dependencies(clock: clock))
        let answer = Task { try await session.send(SessionRequest("/rows", deadline: .seconds(60))).head }
        await clock.sleepers(atLeast: 2)
        clock.advance(by: .seconds(60))
        await #expect { try await answer.value } throws: { ($0 as? TransportError)?.kind == .timedOut }
    }

    @Test func `reading stops once an answer exceeds the caller's limit`() async {
        let bench = Bench()
        bench.server.onRequest {
            TransportResponse(head: HTTPResponse(status: .ok), body: ResponseBody([UInt8](repeating: 0, count: 11)))
        }
        await #expect {
            try await bench.session.send(SessionRequest("/rows", maxResponseBytes: 10))
        } throws: { ($0 as? TransportError)?.kind == .tooLarge }
    }

    @Test func `a stream takes no slot, refreshes its token like any request, and ends with the session`() async throws
    {
        let bench = Bench(configuration: SessionConfiguration(slots: 1))
        let (chunks, feed) = AsyncStream.makeStream(of: [UInt8].self)
        let first = Door()
        bench.server.onRequest { TransportResponse(.unauthorized) }
        bench.server.onRequest { TransportResponse(head: HTTPResponse(status: .ok), body: ResponseBody(chunks)) }
        let stream = Task {
            try await bench.session.stream(SessionRequest("/events")) { _, body in
                for try await chunk in body where chunk == [1] { first.open() }
            }
        }
        feed.yield([1])
        await first.pass()
        #expect(bench.server.refreshes == 1)
        #expect(await bench.send(3).allSatisfy { $0.value == 200 })
        bench.session.end(.revoked)
        await #expect { try await stream.value } throws: { ($0 as? OptimistError)?.signOutReason == .revoked }
    }

    @Test func `R7 a silent stream times out`() async throws {
        let bench = Bench()
        let (chunks, feed) = AsyncStream.makeStream(of: [UInt8].self)
        bench.server.onRequest { TransportResponse(head: HTTPResponse(status: .ok), body: ResponseBody(chunks)) }
        let heard = Mutex(0)
        let stream = Task {
            try await bench.session.stream(SessionRequest("/events"), idleTimeout: .seconds(30)) { _, body in
                for try await _ in body { heard.withLock { $0 += 1 } }
            }
        }
        await #expect {
            try await bench.whileTimePasses(asleep: 1) { try await stream.value }
        } throws: {
            ($0 as? TransportError)?.kind == .timedOut
        }
        feed.finish()
    }
}
