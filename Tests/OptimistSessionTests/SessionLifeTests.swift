// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistTesting
import Testing

@testable import OptimistCore
@testable import OptimistSession

@Suite(.timeLimit(.minutes(20)))
struct SessionLifeTests {
    @Test func `signing in stores the credentials and names the account`() async throws {
        let bench = Bench(signedIn: false)
        let account = try await bench.session.signIn(email: "ada@example.com", password: "secret")
        #expect(account == Account(id: "a1", email: "ada@example.com"))
        #expect(try bench.store.load()?.refreshToken == Secret("refresh-1"))
        #expect(bench.session.state == .active(account))
        #expect(await bench.send(1).first?.value == 200)
    }

    @Test func `a wrong password is refused and changes nothing`() async throws {
        let server = InMemoryTransport.unhurried { _ in .invalidGrant("wrong") }
        let session = Session(
            server: Bench.address, transport: server, credentials: .inMemory,
            dependencies: Dependencies(clock: ManualClock()))
        await #expect { try await session.signIn(email: "ada@example.com", password: "wrong") } throws: {
            ($0 as? OptimistError)?.code == .signInRefused
        }
        #expect(session.account == nil)
    }

    @Test(arguments: [("900", 900), (#""900""#, 900), (#""soon""#, nil), ("null", nil)] as [(String, Int64?)])
    func `a lifetime sent as text is understood`(_ sent: (value: String, seconds: Int64?)) async throws {
        let server = InMemoryTransport.unhurried { _ in
            TransportResponse(
                .ok,
                #"{"access_token":"access-1","refresh_token":"refresh-1","account_id":"a1","expires_in":\#(sent.value)}"#
            )
        }
        let store = InMemoryCredentialStore()
        let session = Session(
            server: Bench.address, transport: server, credentials: store,
            dependencies: Dependencies(clock: ManualClock()))
        try await session.signIn(email: "ada@example.com", password: "secret")
        #expect(store.load()?.lifetime == sent.seconds.map { .seconds($0) })
    }

    @Test func `requests fail immediately while signed out`() async {
        let bench = Bench(signedIn: false)
        #expect(await bench.send(1).first?.error?.signOutReason == .neverSignedIn)
        #expect(bench.transport.requests.isEmpty)
    }

    @Test
    func `T8: cancelling a waiting request returns immediately and affects neither the refresh nor other requests`()
        async
    {
        let bench = Bench()
        let door = Door()
        bench.server.refuse(upTo: 1)
        bench.server.onRefresh { [server = bench.server] in
            await door.pass()
            server.books.withLock { $0.generation = 2 }
            return TransportResponse(.ok, #"{"access_token":"access-2","refresh_token":"refresh-2"}"#)
        }
        let one = Task { try await bench.session.send(SessionRequest("/one")).head.status }
        let two = Task { try await bench.session.send(SessionRequest("/two")).head.status }
        await door.knock()
        one.cancel()
        await #expect(throws: CancellationError.self) { try await one.value }
        #expect(bench.session.state == .refreshing(Credentials.first.account))
        door.open()
        #expect(await (try? two.value) == .ok)
        #expect(bench.server.refreshes == 1)
    }

    @Test(arguments: 1...20)
    func `T8: of many requests, some cancelled at random, none hangs and the others are answered`(seed: UInt64) async {
        let bench = Bench()
        let door = Door()
        bench.server.refuse(upTo: 1)
        bench.server.onRefresh { [server = bench.server] in
            await door.pass()
            server.books.withLock { $0.generation = 2 }
            return TransportResponse(.ok, #"{"access_token":"access-2","refresh_token":"refresh-2"}"#)
        }
        var random = SplitMix64(seed: seed)
        let tasks = (0..<100).map { _ in
            Task { try await bench.session.send(SessionRequest("/rows")).head.status }
        }
        let cancelled = tasks.map { _ in Bool.random(using: &random) }
        for (task, isCancelled) in zip(tasks, cancelled) where isCancelled { task.cancel() }
        await door.knock()
        door.open()
        for (task, isCancelled) in zip(tasks, cancelled) {
            let status = try? await task.value
            #expect(isCancelled || status == .ok)
        }
    }

    @Test
    func
        `T8: signing out ends running and waiting requests and tells the server; a late refresh is not stored`()
        async throws
    {
        let store = WatchedStore(.first)
        let bench = Bench(store: store)
        let door = Door()
        bench.server.refuse(upTo: 1)
        bench.server.onRefresh {
            await door.pass()
            return TransportResponse(.ok, #"{"access_token":"access-2","refresh_token":"refresh-2"}"#)
        }
        async let waiting = bench.send(10)
        await door.knock()
        try await bench.session.signOut()
        door.open()
        #expect(await waiting.allSatisfy { $0.error?.signOutReason == .signedOut })
        #expect(store.load() == nil)
        #expect(store.saves.withLock { $0.isEmpty })
        #expect(bench.session.state == .signedOut(.signedOut))
    }

    @Test func `a sign-out during a sign-in wins, and the late answer is not stored`() async throws {
        let door = Door()
        let store = WatchedStore(nil)
        let transport = InMemoryTransport.unhurried { _ in
            await door.pass()
            return TransportResponse(.ok, #"{"access_token":"access-1","refresh_token":"refresh-1"}"#)
        }
        let session = Session(
            server: Bench.address, transport: transport, credentials: store,
            dependencies: Dependencies(clock: ManualClock()))
        let entering = Task { try await session.signIn(email: "ada@example.com", password: "secret") }
        await door.knock()
        try await session.signOut()
        door.open()
        await #expect { try await entering.value } throws: { ($0 as? OptimistError)?.code == .signInSuperseded }
        #expect(store.load() == nil)
        #expect(session.account == nil)
    }

    @Test func `a sign-in while signed in survives the end of the previous session`() async throws {
        let (saying, answering) = (Door(), Door())
        let server = FakeServer()
        let store = WatchedStore(.first)
        let transport = InMemoryTransport.unhurried { request in
            if request.head.path == "/auth/sign-in" { await answering.pass() }
            return try await server.handle(request)
        }
        let session = Session(
            server: Bench.address, transport: transport, credentials: store,
            dependencies: Dependencies(clock: ManualClock()))
        let former = Task {
            try await session.stream(SessionRequest("/events")) { _, _ in
                await saying.pass()
                session.end(.signedInElsewhere)
                while true { try await Task.sleep(for: .seconds(60)) }
            }
        }
        await saying.knock()
        let entering = Task { try await session.signIn(email: "ada@example.com", password: "secret") }
        await answering.knock()
        saying.open()
        await #expect { try await former.value } throws: {
            ($0 as? OptimistError)?.signOutReason == .signedInElsewhere
        }
        #expect(session.state == .signedOut(.signedInElsewhere))
        answering.open()
        #expect(try await entering.value.email == "ada@example.com")
        #expect(session.account?.email == "ada@example.com")
        #expect(store.load() != nil)
        #expect(try await session.send(SessionRequest("/rows")).head.status == .ok)
    }

    @Test func `an old stream cannot end the session that replaced its own`() async throws {
        let door = Door()
        let bench = Bench()
        let former = Task { [session = bench.session] in
            try await session.stream(SessionRequest("/events")) { _, _ in
                await door.pass()
                session.end(.signedInElsewhere)
            }
        }
        await door.knock()
        try await bench.session.signIn(email: "bob@example.com", password: "secret")
        door.open()
        await #expect { try await former.value } throws: { ($0 as? OptimistError)?.signOutReason == .replaced }
        #expect(bench.session.account?.email == "bob@example.com")
    }

    @Test func `one account's requests are never sent under the next account`() async throws {
        let bench = Bench()
        let door = Door()
        bench.server.onRequest {
            await door.pass()
            return TransportResponse(.unauthorized)
        }
        async let former = bench.send(1)
        await door.knock()
        try await bench.session.signIn(email: "bob@example.com", password: "secret")
        door.open()
        #expect(await former.first?.error?.signOutReason == .replaced)
        #expect(bench.server.sends("/rows") == 1)
        #expect(bench.session.account?.email == "bob@example.com")
    }

    @Test func `T9: a refresh token that cannot be stored is not used, and the user stays signed in`() async throws {
        let store = WatchedStore(.first)
        let bench = Bench(store: store)
        bench.server.refuse(upTo: 1)
        store.failure.withLock { $0 = OptimistError(.credentialsUnwritable, "disk full", remedy: .freeSpace) }
        #expect(await bench.send(1).first?.error?.code == .refreshPostponed)
        #expect(!bench.transport.requests.contains { $0.head.headerFields[.authorization] == "Bearer access-2" })
        #expect(bench.session.account != nil)
    }

    @Test func `T9: a new refresh token is stored before a request carries its access token`() async throws {
        let store = WatchedStore(.first)
        let wasStored = Mutex(true)
        let server = FakeServer()
        server.refuse(upTo: 1)
        let transport = InMemoryTransport.unhurried { request in
            if request.head.headerFields[.authorization] == "Bearer access-2" {
                wasStored.withLock { $0 = $0 && store.load()?.refreshToken == Secret("refresh-2") }
            }
            return try await server.handle(request)
        }
        let session = Session(
            server: Bench.address, transport: transport, credentials: store,
            dependencies: Dependencies(clock: ManualClock()))
        _ = try await session.send(SessionRequest("/rows"))
        #expect(server.sends("/rows") == 2)
        #expect(wasStored.withLock { $0 })
    }

    @Test func `T9: no description, dump or error shows a token`() async throws {
        let bench = Bench()
        _ = try await bench.session.send(SessionRequest("/rows?key=access-in-query"))
        var shown = "\(Credentials.first) \(String(reflecting: Credentials.first)) \(bench.session.state)"
        dump(Credentials.first, to: &shown)
        for request in bench.transport.requests {
            shown += "\(request) \(String(reflecting: request))"
            dump(request, to: &shown)
        }
        dump(bench.session, to: &shown)
        #expect(!shown.contains("access-"))
        #expect(!shown.contains("refresh-"))
    }

    @Test func `T6: the installation id exists before any request and never changes`() async throws {
        let bench = Bench(signedIn: false)
        async let ids = [bench.session.installID(), bench.session.installID()]
        let id = try await bench.session.installID()
        #expect(try await ids == [id, id])
        try await bench.session.signIn(email: "ada@example.com", password: "secret")
        let body = String(decoding: bench.transport.requests[0].body, as: UTF8.self)
        #expect(body.contains(id.uuidString.lowercased()))
        try await bench.session.signOut()
        #expect(try await bench.session.installID() == id)
    }

    @Test func `T3: an end reported by the event stream ends the session`() async {
        let bench = Bench()
        #expect(await bench.send(1).first?.value == 200)
        bench.session.end(.signedInElsewhere)
        bench.session.end(.revoked)
        #expect(bench.session.state == .signedOut(.signedInElsewhere))
        #expect(await bench.send(1).first?.error?.signOutReason == .signedInElsewhere)
    }

    @Test func `another server's credentials are not sent to this one`() async throws {
        var theirs = Credentials.first
        theirs.origin = "https://elsewhere.example"
        let bench = Bench(store: InMemoryCredentialStore(theirs))
        #expect(await bench.send(1).first?.error?.signOutReason == .otherServer)
        #expect(bench.transport.requests.isEmpty)
    }
}
