// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Testing

@testable import OptimistCore
@testable import OptimistSession
@_spi(Internals) @testable import OptimistTesting

@Suite(.timeLimit(.minutes(20)))
struct CredentialStoreTests {
    /// Runs a test in a temporary directory, which is removed afterwards.
    private func withDirectory(_ work: (URL) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID())/credentials")
        defer { try? FileManager.default.removeItem(at: directory.deletingLastPathComponent()) }
        try work(directory)
    }

    private func mode(_ url: URL) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path(percentEncoded: false))
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
    }

    private func setMode(_ mode: Int, _ url: URL) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path(percentEncoded: false))
    }

    @Test func `saved credentials are loaded unchanged by any store on the same directory`() throws {
        try withDirectory { directory in
            let store = FileCredentialStore(at: directory)
            #expect(try store.load() == nil)
            var credentials = Credentials.first
            credentials.expiresAt = Date(timeIntervalSince1970: 1_800_000_000.25)
            credentials.lifetime = .seconds(900)
            try store.save(.first)
            try store.save(credentials)
            #expect(try FileCredentialStore(at: directory).load() == credentials)
            try store.erase()
            try store.erase()
            #expect(try store.load() == nil)
        }
    }

    @Test func `T9: the directory is 0700, the file 0600, and no other file remains`() throws {
        try withDirectory { directory in
            let store = FileCredentialStore(at: directory)
            try store.save(.first)
            try store.save(.first)
            #expect(try mode(directory) == 0o700)
            #expect(try mode(directory.appending(path: "credentials.json")) == 0o600)
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path(percentEncoded: false))
            #expect(names == ["credentials.json"])
        }
    }

    @Test(arguments: [("", 0o755, "chmod 700"), ("credentials.json", 0o640, "chmod 600")])
    func `credentials that other users can read are refused with a remedy`(name: String, mode: Int, remedy: String)
        throws
    {
        try withDirectory { directory in
            let store = FileCredentialStore(at: directory)
            try store.save(.first)
            try setMode(mode, name.isEmpty ? directory : directory.appending(path: name))
            #expect { try store.load() } throws: {
                guard let error = $0 as? OptimistError else { return false }
                return error.code == .credentialsInsecure && error.message.contains(remedy)
            }
        }
    }

    @Test(arguments: ["directory", "file"])
    func `a symbolic link is refused`(kind: String) throws {
        try withDirectory { directory in
            let store = FileCredentialStore(at: directory)
            try store.save(.first)
            let real = kind == "file" ? directory.appending(path: "credentials.json") : directory
            let moved = directory.deletingLastPathComponent().appending(path: "moved")
            try FileManager.default.moveItem(at: real, to: moved)
            try FileManager.default.createSymbolicLink(at: real, withDestinationURL: moved)
            #expect { try store.load() } throws: { ($0 as? OptimistError)?.code == .credentialsInsecure }
        }
    }

    @Test(arguments: ["", "{", "{}", "null", "\u{0}\u{1}", #"{"version":1,"access":"access-9"}"#])
    func `a broken file is an error that does not show its content`(content: String) throws {
        try withDirectory { directory in
            let store = FileCredentialStore(at: directory)
            try store.save(.first)
            let handle = try FileHandle(forWritingTo: directory.appending(path: "credentials.json"))
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: Data(content.utf8))
            #expect { try store.load() } throws: {
                guard let error = $0 as? OptimistError else { return false }
                return error.code == .credentialsUnreadable && !String(reflecting: error).contains("access-9")
            }
            try store.save(.first)
            #expect(try store.load() == .first)
        }
    }

    @Test func `leftovers of a crash do not stop the next save, and are erased with the rest`() throws {
        try withDirectory { directory in
            let store = FileCredentialStore(at: directory)
            try store.save(.first)
            let leftover = directory.appending(path: ".credentials.json.new")
            try Data("half".utf8).write(to: leftover)
            try store.save(.first)
            #expect(try store.load() == .first)
            try Data("half".utf8).write(to: leftover)
            try store.erase()
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path(percentEncoded: false)).isEmpty)
        }
    }

    @Test
    func `T9: one store at a time holds the lease to renew shared credentials, and dropping the lease releases it`()
        throws
    {
        try withDirectory { directory in
            let (one, other) = (FileCredentialStore(at: directory), FileCredentialStore(at: directory))
            let now = Date(timeIntervalSince1970: 1_800_000_000)
            var lease = try #require(try one.lease(at: now))
            #expect(try other.lease(at: now) == nil)
            #expect(try one.lease(at: now) == nil)
            lease.end()
            lease.end()
            lease = try #require(try other.lease(at: now))
            #expect(try one.lease(at: now) == nil)
            lease = CredentialLease()
            #expect(try one.lease(at: now) != nil)
        }
    }

    @Test(arguments: 1...20)
    func `T1 T10: two processes that share credentials renew them once, and both stay signed in`(seed: UInt64) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = FileCredentialStore(at: directory)
        try store.save(.first)
        let server = FakeServer()
        server.refuse(upTo: 1)
        let scheduler = SimulatedScheduler(seed: seed)
        let random = Mutex(SplitMix64(seed: seed))
        let answers = Mutex<[Int?]>([])
        let processes = ["app", "extension"].map { name in
            let process = scheduler.process(name)
            let dependencies = process.dependencies(seed: seed)
            let session = Session(
                server: Bench.address,
                transport: InMemoryTransport(dependencies: dependencies) { request in
                    let delay = random.withLock { Int.random(in: 0...100, using: &$0) }
                    try await dependencies.clock.sleep(for: .milliseconds(delay))
                    return try await server.handle(request)
                },
                credentials: FileCredentialStore(at: directory), dependencies: dependencies)
            for _ in 0..<3 {
                process.spawn {
                    let code = try? await session.send(SessionRequest("/rows")).head.status.code
                    answers.withLock { $0.append(code) }
                }
            }
            return process
        }
        scheduler.run(for: .seconds(60))
        scheduler.end(processes)
        #expect(answers.withLock(\.self) == Array(repeating: 200, count: 6))
        #expect(server.refreshes == 1)
        #expect(try store.load()?.refreshToken == Secret("refresh-2"))
    }

    @Test func `T1 T9: credentials that another process stored and that have expired are renewed before they are sent`()
        async throws
    {
        let store = InMemoryCredentialStore(.first)
        let server = FakeServer()
        let transport = InMemoryTransport.unhurried { try await server.handle($0) }
        let session = Session(
            server: Bench.address, transport: transport, credentials: store,
            dependencies: Dependencies(
                clock: ManualClock(), now: { Date(timeIntervalSince1970: 1_800_000_000) }, seed: 1))
        _ = try await session.send(SessionRequest("/rows"))
        server.books.withLock { ($0.generation, $0.refusedUpTo) = (2, 2) }
        var kept = Credentials.first
        (kept.accessToken, kept.refreshToken) = (Secret("access-2"), Secret("refresh-2"))
        kept.expiresAt = Date(timeIntervalSince1970: 1_799_999_999)
        store.save(kept)
        #expect(try await session.send(SessionRequest("/rows")).head.status == .ok)
        #expect(server.refreshes == 1)
        #expect(store.load()?.refreshToken == Secret("refresh-3"))
    }

    @Test(arguments: ["a refresh", "a refusal", "a request"])
    func `T3 T9: a process whose session ends keeps the credentials that another process signed in with`(kind: String)
        async throws
    {
        let store = InMemoryCredentialStore(.first)
        let bench = Bench(store: store)
        _ = try await bench.session.send(SessionRequest("/rows"))
        var theirs = Credentials.first
        theirs.account = Account(id: "a2", email: "grace@example.com")
        (theirs.accessToken, theirs.refreshToken) = (Secret("theirs"), Secret("their refresh"))
        store.save(theirs)
        bench.server.refuse(upTo: 1)
        switch kind {
        case "a refusal": bench.server.onRefresh { .invalidGrant("revoked") }
        case "a request":
            bench.server.onRequest {
                TransportResponse(.unauthorized, #"{"error":"invalid_token","reason":"revoked"}"#)
            }
        default: break
        }
        let reason: SignOutReason = kind == "a request" ? .revoked : .replaced
        #expect(await bench.send(1).first?.error?.signOutReason == reason)
        #expect(bench.server.refreshes == 0)
        try await bench.session.signOut()
        #expect(store.load() == theirs)
    }

    @Test func `T3 T9: when an earlier session ends, the session that another process has begun continues`()
        async throws
    {
        let store = InMemoryCredentialStore(.first)
        let bench = Bench(store: store)
        _ = try await bench.session.send(SessionRequest("/rows"))
        var anew = Credentials.first
        (anew.accessToken, anew.refreshToken) = (Secret("access-2"), Secret("refresh-2"))
        store.save(anew)
        bench.server.books.withLock { books in
            (books.generation, books.refusedUpTo) = (2, 1)
            books.refusal = {
                TransportResponse(.unauthorized, #"{"error":"invalid_token","reason":"signed_in_elsewhere"}"#)
            }
        }
        #expect(await bench.send(3).map(\.value) == [200, 200, 200])
        #expect(bench.server.refreshes == 0)
        #expect(store.load() == anew)
    }

    @Test func `T9 T10: a late answer does not overwrite credentials that another process has renewed again`()
        async throws
    {
        let store = InMemoryCredentialStore(.first)
        let bench = Bench(store: store)
        var latest = Credentials.first
        (latest.accessToken, latest.refreshToken) = (Secret("access-3"), Secret("refresh-3"))
        bench.server.refuse(upTo: 2)
        bench.server.onRefresh { [server = bench.server, latest] in
            server.books.withLock { $0.generation = 3 }
            store.save(latest)
            return TransportResponse(.ok, #"{"access_token":"access-2","refresh_token":"refresh-2"}"#)
        }
        #expect(await bench.send(1).first?.value == 200)
        #expect(store.load() == latest)
    }

    @Test func `T9: a session that began signed out does not erase another process's credentials`() async throws {
        let store = InMemoryCredentialStore()
        let bench = Bench(store: store)
        #expect(await bench.send(1).first?.error?.signOutReason == .neverSignedIn)
        store.save(.first)
        try await bench.session.signOut()
        #expect(store.load() == .first)
    }

    @Test func `T3 T9: after another process signs out, credentials are not renewed and a late answer is not stored`()
        async throws
    {
        for isUnderWay in [false, true] {
            let store = InMemoryCredentialStore(.first)
            let bench = Bench(store: store)
            _ = try await bench.session.send(SessionRequest("/rows"))
            bench.server.refuse(upTo: 1)
            if isUnderWay {
                bench.server.onRefresh {
                    store.erase()
                    return TransportResponse(
                        .ok, #"{"access_token":"access-2","refresh_token":"refresh-2","expires_in":900}"#)
                }
            } else {
                store.erase()
            }
            #expect(await bench.send(1).first?.error?.signOutReason == .signedOut)
            #expect(bench.server.refreshes == (isUnderWay ? 1 : 0))
            #expect(store.load() == nil)
        }
    }

    @Test func `T9: signing out erases credentials that another process renewed; a refusal of the old pair does not`()
        async throws
    {
        let store = InMemoryCredentialStore(.first)
        let vault = Vault(store)
        _ = try await vault.restore()
        var renewed = Credentials.first
        renewed.refreshToken = Secret("refresh-2")
        store.save(renewed)
        try await vault.erase(.first, upTo: 0)
        #expect(store.load() == renewed)
        try await vault.signOut(upTo: 1)
        #expect(store.load() == nil)
    }

    @Test func `T6: concurrent callers get the same installation id`() throws {
        try withDirectory { directory in
            let ids = Mutex<Set<UUID>>([])
            DispatchQueue.concurrentPerform(iterations: 32) { _ in
                let id = try? FileCredentialStore(at: directory).installID(storingIfMissing: UUID())
                ids.withLock { _ = $0.insert(id ?? UUID()) }
            }
            #expect(ids.withLock(\.count) == 1)
            let store = FileCredentialStore(at: directory)
            try store.save(.first)
            try store.erase()
            #expect(try ids.withLock { $0.contains(try store.installID(storingIfMissing: UUID())) })
        }
    }

    @Test func `damaged credentials are reported, and a new sign-in repairs them`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = FileCredentialStore(at: directory)
        try store.save(.first)
        let handle = try FileHandle(forWritingTo: directory.appending(path: "credentials.json"))
        try handle.truncate(atOffset: 3)
        let bench = Bench(store: store)
        #expect(await bench.send(1).first?.error?.signOutReason == .credentialsUnreadable)
        try await bench.session.signIn(email: "ada@example.com", password: "secret")
        #expect(await bench.send(1).first?.value == 200)
        #expect(try store.load()?.accessToken == Secret("access-1"))
    }
}
