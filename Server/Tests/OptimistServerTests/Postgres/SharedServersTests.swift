// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// A value that a test changes while other tasks read it.
private final class Shared<Value: Sendable>: Sendable {
    private let stored: Mutex<Value>
    init(_ value: Value) { stored = Mutex(value) }
    var value: Value {
        get { stored.withLock(\.self) }
        set { stored.withLock { $0 = newValue } }
    }
}

/// Several servers on one PostgreSQL.
@Suite(.postgres, .timeLimit(.minutes(20)))
struct SharedServersTests {
    private let site = Site()

    /// Runs two servers on one database.
    private func serving(
        change: @escaping (inout ServerConfiguration) -> Void = { _ in },
        _ body: (_ here: (OptimistServer, HTTPSide), _ there: (OptimistServer, HTTPSide)) async throws -> Void
    ) async throws {
        try await site.serving(change: change) { here, http async throws in
            try await site.serving(change: change) { there, otherHTTP async throws in
                try await body((here, http), (there, otherHTTP))
            }
        }
    }

    private func put(_ content: String) -> JSON { ["create": [RowKey.id(1): ["content": .string(content)]]] }

    @Test func `N1 rows stored through one server are served by another, which notifies its own listeners`()
        async throws
    {
        try await serving { here, there async throws in
            let person = try await here.1.signUp()
            var seqs: [Int64] = []
            try await there.1.events(token: person.access) { _, data async throws in
                let state = data["changed"]?[person.account]?["todo"]?.string.flatMap { SyncState($0) }
                seqs.append(state?.seq ?? -1)
                if seqs.count == 1 { _ = try await here.0.call(person, "todo/set", put("from here")) }
                if seqs.last == 1 { return true }
                // The sleepers are the listener, which pauses after an event, and both servers' housekeeping.
                await site.clock.sleepers(atLeast: 3)
                site.clock.advance(by: .milliseconds(50))
                return false
            }
            // The first state may be repeated: an event is a hint.
            #expect([[0, 1], [0, 0, 1]].contains(seqs))
            let rows = try await there.0.rows(account: person.account, type: "todo")
            #expect(rows.map(\.id) == [RowKey.id(1)])
        }
    }

    @Test func `N2 a session that one server ends is ended at the other`() async throws {
        try await serving { here, there async throws in
            let person = try await here.1.signUp()
            #expect(try await there.1.get("/.well-known/jmap", token: person.access).status == 200)
            var reasons: [JSON?] = []
            try await there.1.events(token: person.access) { event, data async throws in
                if event == "session" { reasons.append(data["reason"]) }
                if event == "state" { _ = try await here.1.form("/auth/revoke", "token=\(person.refresh)") }
                return event == "session"
            }
            #expect(reasons == ["revoked"])
            #expect(try await there.1.get("/.well-known/jmap", token: person.access).status == 401)
        }
    }

    @Test func `N2 a session refreshes at any server, and reusing a token ends it everywhere`() async throws {
        try await serving { here, there async throws in
            let person = try await here.1.signUp()
            let second = try Person(
                await there.1.form("/auth/token", "grant_type=refresh_token&refresh_token=\(person.refresh)").json)
            #expect(try await here.1.get("/.well-known/jmap", token: second.access).status == 200)
            let reused = try await here.1.form(
                "/auth/token", "grant_type=refresh_token&refresh_token=\(person.refresh)")
            #expect(reused.json["reason"] == "reuse_detected")
            let after = try await there.1.form(
                "/auth/token", "grant_type=refresh_token&refresh_token=\(second.refresh)")
            #expect(after.status == 400)
        }
    }

    @Test func `N2 a cached session is looked up again after its lifetime`() {
        let (time, epoch) = (Shared(Duration.zero), Shared("e1"))
        let directory = SessionDirectory(lifetime: .seconds(30), elapsed: { time.value }, epoch: { epoch.value })
        let record = SessionRecord(
            account: "a", id: "s", deviceID: "d", deviceName: "", salt: [], generation: 1, confirmed: 0, refreshedAt: 0)
        _ = directory.learn(record)
        time.value = .seconds(29)
        #expect(directory["s"] != nil)
        epoch.value = "e2"
        #expect(directory["s"] == nil, "the database may lack the session")
        epoch.value = "e1"
        time.value = .seconds(30)
        #expect(directory["s"] == nil)
        var ended = record
        ended.ended = .revoked
        #expect(directory.learn(ended).ended == .revoked)
        time.value = .seconds(300)
        #expect(directory["s"]?.ended == .revoked)
    }

    @Test func `N3 wrong passwords count at all servers together, and are forgotten after a while`() async throws {
        try await serving(change: { $0.signInBurstPerAccount = 2 }) { here, there async throws in
            _ = try await here.1.signUp()
            let wrong = JSON.entry("a@example.org", password: "wrong horse")
            #expect(try await here.1.post("/auth/sign-in", wrong).status == 400)
            #expect(try await there.1.post("/auth/sign-in", wrong).status == 400)
            let limited = try await here.1.post("/auth/sign-in", JSON.entry("A@example.org"))
            #expect(limited.status == 429)
            #expect(limited.headers["retry-after"].first.flatMap { Int($0) }.map { (1...3600).contains($0) } == true)
            try connection().script("UPDATE optimist_attempts SET updated_at = updated_at - 3601")
            #expect(try await there.1.post("/auth/sign-in", JSON.entry("a@example.org")).status == 200)
            // The password was correct, so the attempts are forgotten.
            #expect(try await here.1.post("/auth/sign-in", wrong).status == 400)
        }
    }

    private func connection() throws -> PostgresConnection { try PostgresConnection(try #require(site.database).url) }

    @Test func `N1 writes to one account through two servers get distinct, gapless seqs`() async throws {
        try await serving { here, there async throws in
            let person = try await here.1.signUp()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 0..<40 {
                    let server = number % 2 == 0 ? here.0 : there.0
                    tasks.addTask {
                        let todo: JSON = ["content": .string("\(number)")]
                        _ = try await server.call(person, "todo/set", ["create": [RowKey.id(number): todo]])
                    }
                }
                try await tasks.waitForAll()
            }
            let rows = try await here.0.rows(account: person.account, type: "todo")
            #expect(rows.count == 40 && Set(rows.map(\.seq)) == Set(1...40))
        }
    }

    // MARK: - Housekeeping and starts

    @Test func `N4 one process at a time does the housekeeping`() async throws {
        let database = try #require(site.database)
        _ = try await site.open()
        let turn = ExclusiveTurn(database: database, lock: .tryHousekeeping)
        let runs = Mutex(0)
        await turn.carryOut {
            runs.withLock { $0 += 1 }
            await turn.carryOut { runs.withLock { $0 += 1 } }
        }
        #expect(runs.withLock(\.self) == 1)
    }

    @Test func `N5 servers that start concurrently create the tables and the epoch once`() async throws {
        let servers = try await withThrowingTaskGroup(of: OptimistServer.self) { tasks in
            for _ in 0..<4 { tasks.addTask { try await site.open() } }
            return try await tasks.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(servers.map(\.epoch)).count == 1)
        let epochs = try connection().query(SharedStatement.epochs)
        #expect(epochs.count == 1)
    }

    @Test func `N5 a process with another secret does not start unless it may end all sessions`()
        async throws
    {
        _ = try await site.open()
        let database = try #require(site.database)
        let other = try ServerKeys(secret: ServerKeys.make())
        func open() async throws {
            let opening = PostgresOpening(database: database, logger: SharedDatabase.quiet)
            _ = try await opening.open(.planner, accepting: [], other)
        }
        let error = await #expect(throws: OptimistError.self) { try await open() }
        #expect(error?.code == .wrongSecret)
        try await PostgresOpening(database: database, logger: SharedDatabase.quiet).replaceSecret(by: other)
        try await open()
    }

    // MARK: - Epochs

    @Test func `N6 a new epoch begins when the database was promoted or restored, and devices learn of it`()
        async throws
    {
        let server = try await site.open()
        let person = try await server.signUp()
        _ = try await server.call(person, "todo/set", put("kept"))
        let first = server.epoch
        // As after a promotion: the last epoch belongs to another timeline.
        try connection().script("UPDATE optimist_epochs SET life = 'another/00000001'")
        let next = try await site.open()
        #expect(next.epoch != first)
        // The running server learns of the new epoch with its next transaction.
        _ = try await server.call(person, "todo/set", ["create": [RowKey.id(2): ["content": "later"]]])
        #expect(server.epoch == next.epoch)
        let beyond = try await next.call(
            person, "todo/changes", ["sinceState": .string("\(first).9"), "inline": true])
        #expect(beyond["type"] == "forked")
        let good = try await next.call(person, "todo/changes", ["sinceState": .string("\(first).1"), "inline": true])
        #expect(good["newState"] == .string("\(next.epoch).2"))
    }

    @Test func `N6 an operator can begin an epoch`() async throws {
        let server = try await site.open()
        let opening = PostgresOpening(database: try #require(site.database), logger: SharedDatabase.quiet)
        let name = try await opening.beginEpoch()
        #expect(name != server.epoch)
        #expect(try await site.open().epoch == name)
    }

    // MARK: - Schemas

    private static func schema(_ version: Int, _ type: String, was: String? = nil) -> Schema {
        var definition = TypeSchema(columns: ["name": ColumnSchema(.string, isRequired: true, maxBytes: 100)])
        definition.uniqueIndexes = version > 1 ? [UniqueIndex(["name"])] : []
        if let was { definition.formerNames = [FormerName(was, until: version - 1)] }
        return Schema(id: "lists", version: version, types: [type: definition])
    }

    @Test
    func `N7 an account is renamed at its next request to a later schema, and earlier servers then refuse it`()
        async throws
    {
        let old = try await site.open(schema: Self.schema(1, "List"))
        let (first, second) = (try await old.signUp("a@example.org"), try await old.signUp("b@example.org"))
        for person in [first, second] {
            _ = try await old.call(person, "List/set", ["create": [RowKey.id(1): ["name": "Groceries"]]])
        }
        let new = try await site.open(schema: Self.schema(2, "Folder", was: "List"))
        let twin = try await new.call(first, "Folder/set", ["create": [RowKey.id(2): ["name": "Groceries"]]])
        #expect(SetAnswer(json: twin)?.notCreated.first?.error.type == "uniqueViolation")
        await #expect(throws: PostgresError.self) { try await old.rows(account: first.account, type: "List") }
        #expect(try await old.rows(account: second.account, type: "List").count == 1)
        #expect(try await new.rows(account: second.account, type: "Folder").count == 1)
        let error = await #expect(throws: OptimistError.self) { try await site.open(schema: Self.schema(1, "List")) }
        #expect(error?.code == .schemaConflict)
    }

    @Test func `N7 rows that would collide in a new unique index are counted before its acceptance`() async throws {
        let old = try await site.open(schema: Self.schema(1, "List"))
        let person = try await old.signUp()
        for number in 1...3 {
            _ = try await old.call(person, "List/set", ["create": [RowKey.id(number): ["name": "Same"]]])
        }
        let error = await #expect(throws: OptimistError.self) {
            try await site.open(schema: Self.schema(2, "Folder", was: "List"))
        }
        #expect(error?.message.contains("3 rows collide") == true, "\(error?.message ?? "")")
        _ = try await site.open(schema: Self.schema(2, "Folder", was: "List")) {
            $0.acceptedChanges = [SchemaChange(.unique, "Folder", "name")]
        }
    }
}
