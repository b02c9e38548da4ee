// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import HTTPTypes
import OptimistSession
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

/// A server with several accounts, as one device reaches it. The signed-in account decides which rows the device gets.
private final class Accounts: Remote {
    private let present = Mutex<String?>(nil)
    private let remotes: [String: InMemoryRemote]
    private let saysWho: Bool

    init(_ servers: [String: InMemoryServer], saysWho: Bool = true) {
        remotes = servers.mapValues(InMemoryRemote.init)
        self.saysWho = saysWho
    }

    var guarantees: RemoteGuarantees { RemoteGuarantees(hasOrderedCursors: true, pagesHaveOwnChanges: true) }

    func signIn(_ name: String?) { present.withLock { $0 = name } }

    var signInState: SignInState {
        guard saysWho else { return .unknown }
        return present.withLock { $0 }.map { .account("server#\($0)") } ?? .nobody
    }

    private func remote() throws -> InMemoryRemote {
        guard let remote = present.withLock({ $0 }).flatMap({ remotes[$0] }) else {
            throw RemoteFailure.signedOut("Nobody is signed in.")
        }
        return remote
    }

    func connect() async throws -> RemoteAccount {
        var account = try await remote().connect()
        account.id = "server#\(present.withLock { $0 } ?? "")"
        return account
    }
    func push(_ push: RemotePush) async throws -> RemotePush.Answer { try await remote().push(push) }
    func pull(_ request: RemotePage.Request) async throws -> RemotePage { try await remote().pull(request) }
    func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        try await remote().snapshot(request)
    }
    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { throw RemoteFailure.noPokes }
}

@Suite(.timeLimit(.minutes(20)))
struct FileOwnerTests {
    private let phone: Phone
    private let servers = ["A": InMemoryServer(schema: .planner), "B": InMemoryServer(schema: .planner)]

    init() throws { phone = try Phone() }

    private func engine(_ remote: Accounts) -> SyncEngine {
        SyncEngine(store: phone.store, remote: remote, reachability: ManualReachability())
    }

    private func run(_ engine: SyncEngine, until isReached: (SyncStatus) -> Bool) async throws {
        let running = Task { await engine.run() }
        try await engine.statuses.reach { isReached($0) }
        running.cancel()
        await running.value
    }

    private func write(_ content: String) async throws {
        try await phone.store.write { try Todo(content: content).insert($0) }
    }

    private func refused(_ write: () async throws -> Void) async -> Bool {
        do { try await write() } catch {
            let error = error as? OptimistError
            return error?.code == .otherAccount && error?.message.contains("AccountFiles") == true
        }
        return false
    }

    private func contents(_ account: String) -> [String] {
        (servers[account]?.rows("todo").values.compactMap { $0["content"]?.string } ?? []).sorted()
    }

    private static func isSynced(_ status: SyncStatus) -> Bool {
        status.counts.pending == 0 && status.isComplete && status.counts.lastSync != nil && status.phase == .idle
    }

    private static func isPaused(_ status: SyncStatus) -> Bool {
        if case .paused = status.phase { true } else { false }
    }

    @Test func `L2 with one file, B's writes between two sessions of A never reach A`() async throws {
        let remote = Accounts(servers)
        let engine = engine(remote)
        remote.signIn("A")
        try await write("of A")
        try await run(engine, until: Self.isSynced)
        remote.signIn(nil)
        try await write("of A, signed out")
        remote.signIn("B")
        #expect(await refused { try await write("of B") })
        try await run(engine, until: Self.isPaused)
        #expect(await refused { try await write("of B") })
        #expect(contents("B").isEmpty)
        remote.signIn("A")
        try await write("of A again")
        try await run(engine, until: Self.isSynced)
        #expect(contents("A") == ["of A", "of A again", "of A, signed out"])
        #expect(contents("B").isEmpty)
    }

    @Test func `L2 asking who is signed in costs the same at every write`() throws {
        let depths = Mutex<[Int]>([])
        phone.store.follow {
            depths.withLock { $0.append(Thread.callStackReturnAddresses.count) }
            return .unknown
        }
        for _ in 1...40 { _ = phone.store.signedIn }
        #expect(Set(depths.withLock { $0 }).count == 1)
    }

    @Test func `L2 a file belongs to the account that signed in first, even if it never connected`() async throws {
        let remote = Accounts(servers)
        let engine = engine(remote)
        try await write("before anybody")
        remote.signIn("A")
        try await write("of A, offline")
        remote.signIn("B")
        try await run(engine, until: Self.isPaused)
        #expect(contents("B").isEmpty)
        remote.signIn("A")
        try await run(engine, until: Self.isSynced)
        #expect(contents("A") == ["before anybody", "of A, offline"])
    }

    @Test func `L2 the signed-in account is remembered after a relaunch, before any engine runs`() async throws {
        let remote = Accounts(servers)
        let engine = engine(remote)
        remote.signIn("A")
        try await write("of A")
        remote.signIn("B")
        #expect(await refused { try await write("of B") })
        try phone.reopen()
        #expect(await refused { try await write("of B, relaunched") })
        #expect(try await phone.store.todos().map(\.content) == ["of A"])
        remote.signIn(nil)
        try await phone.store.note(remote.signInState)
        try await write("of A, signed out")
        try phone.reopen()
        try await write("of A, relaunched")
        _ = engine
    }

    @Test func `L2 a write that waits for its turn belongs to the account that was signed in when the app wrote`()
        async throws
    {
        let remote = Accounts(servers)
        let engine = engine(remote)
        remote.signIn("A")
        try await write("of A")
        remote.signIn("B")
        let store = phone.store
        try await store.note(remote.signInState)
        let (begun, continuation) = AsyncStream<Void>.makeStream()
        let door = DispatchSemaphore(value: 0)
        async let slow: Void = store.apply { _ in
            continuation.finish()
            door.wait()
        }
        for await _ in begun {}
        async let isRefused = refused { try await store.write { try Todo(content: "of B").insert($0) } }
        while !store.isAwaited { await Task.yield() }
        remote.signIn("A")
        door.signal()
        try await slow
        #expect(await isRefused)
        _ = engine
    }

    @Test func `L2 unsynced tables can be written while another account is signed in`() async throws {
        try await phone.store.write { try $0.create(table: "draft") { $0.primaryKey("id", .integer) } }
        let remote = Accounts(servers)
        let engine = engine(remote)
        remote.signIn("A")
        try await write("of A")
        remote.signIn("B")
        try await phone.store.write { try $0.execute(sql: "INSERT INTO draft VALUES (1)") }
        _ = engine
    }

    @Test func `L2 if the remote does not report who is signed in, the account is known after connecting`() async throws
    {
        let remote = Accounts(servers, saysWho: false)
        let engine = engine(remote)
        remote.signIn("A")
        try await write("of A")
        try await run(engine, until: Self.isSynced)
        remote.signIn("B")
        try await run(engine, until: Self.isPaused)
        #expect(await refused { try await write("of B") })
        try phone.reopen()
        #expect(await refused { try await write("of B, relaunched") })
        remote.signIn(nil)
        let again = self.engine(remote)
        try await run(again) { status in
            if case .paused(let reason) = status.phase { reason.code == .signedOut } else { false }
        }
        try await write("of A, signed out")
    }

    @Test func `L2 a file from a version that stored no names belongs to the account it syncs with`() async throws {
        try await phone.store.bind(to: "server#A")
        let remote = Accounts(servers)
        let engine = engine(remote)
        remote.signIn("B")
        #expect(await refused { try await write("of B") })
        remote.signIn("A")
        try await write("of A")
        try await run(engine, until: Self.isSynced)
        #expect(contents("A") == ["of A"])
    }

    @Test func `L2 an account keeps its file when its name changes, once it has connected`() {
        var owner = FileOwner()
        var isBound = owner.bind(to: "server#1", as: .account("a@example.com"))
        #expect(isBound)
        owner.notice(.account("new@example.com"))
        #expect(owner.visitor == "new@example.com")
        isBound = owner.bind(to: "server#1", as: .account("new@example.com"))
        #expect(isBound && owner.visitor == nil)
        isBound = owner.bind(to: "server#2", as: .account("b@example.com"))
        #expect(!isBound && owner.visitor == "b@example.com")
        owner.notice(.unknown)
        #expect(owner.visitor == "b@example.com")
        owner.notice(.nobody)
        #expect(owner.visitor == nil)
    }

    /// As in the README's first example: one file, one session, one engine.
    @Test func `L2 a session reports who is signed in, without a network and without a run`() async throws {
        let transport = InMemoryTransport { request in
            guard request.head.path?.contains("signout") != true else { return TransportResponse(.ok) }
            let body = String(decoding: request.body, as: UTF8.self)
            let account = body.contains("ada@") ? "a" : "b"
            return TransportResponse(
                .ok, #"{"access_token":"1","refresh_token":"2","expires_in":3600,"account_id":"\#(account)"}"#)
        }
        let session = Session(
            server: try #require(URL(string: "https://planner.example")), transport: transport, credentials: .inMemory)
        let sync = SyncEngine(store: phone.store, session: session)
        try await write("before anybody")
        try await session.signUp(email: "ada@example.com", password: "secret")
        try await write("of Ada")
        try await sync.signOut()
        try await write("of Ada, signed out")
        try await session.signUp(email: "ben@example.com", password: "secret")
        #expect(await refused { try await write("of Ben") })
        try await session.signIn(email: "ada@example.com", password: "secret")
        try await write("of Ada again")
        #expect(try await phone.store.counts().pending == 4)
    }
}
