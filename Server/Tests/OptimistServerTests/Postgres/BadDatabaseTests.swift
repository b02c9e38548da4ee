// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation
import OptimistCore
@_spi(Internals) import OptimistTesting
import OptimistWire
import Synchronization
import Testing

@testable import OptimistPostgres
@testable import OptimistServer
@_spi(Internals) @testable import OptimistServing

/// Databases that cannot serve, and databases that fail during a transaction.
@Suite(.postgres, .timeLimit(.minutes(20)))
struct BadDatabaseTests {
    private func open(_ database: PostgresDatabase) async throws -> OpenedStorage {
        try await PostgresOpening(database: database, logger: SharedDatabase.quiet).open(
            .planner, accepting: [], ServerKeys(secret: SharedDatabase.secret))
    }

    private func refusal(of database: PostgresDatabase) async -> OptimistError? {
        do {
            _ = try await open(database)
            return nil
        } catch { return error as? OptimistError }
    }

    // MARK: - Starting

    @Test func `N8 a database of a later version is refused with advice and left unchanged`() async throws {
        let database = try SharedDatabase.make()
        _ = try await open(database)
        let connection = try PostgresConnection(database.url)
        try connection.script("UPDATE optimist_settings SET value = '99' WHERE name = 'version'")
        let error = await refusal(of: database)
        #expect(error?.code == .newerData && error?.message.contains("99") == true)
        #expect(try connection.query(SharedStatement.setting, [.text("version")]).text(0, 0) == "99")
    }

    @Test(arguments: ["x integer", "name text, value integer"])
    func `N8 a table of the same name that another program made is refused`(columns: String) async throws {
        let database = try SharedDatabase.make()
        try PostgresConnection(database.url).script("CREATE TABLE optimist_settings (\(columns))")
        #expect(await refusal(of: database)?.code == .unreadableData)
    }

    @Test func `N8 a database that cannot be reached or written is reported`() async throws {
        let away = PostgresDatabase(url: "postgres://u:secret@/d?host=/nowhere")
        let error = await refusal(of: away)
        #expect(error?.code == .databaseUnreachable && error?.message.contains("secret") == false)
        var readOnly = try SharedDatabase.make()
        readOnly.url += "%20-cdefault_transaction_read_only%3Don"
        let refused = await refusal(of: readOnly)
        #expect(refused?.code == .databaseUnsuitable && refused?.message.contains("does not accept writes") == true)
    }

    @Test func `N8 a database in another encoding is refused, with the command for a correct one`() async throws {
        let url = try #require(SharedDatabase.url)
        let name = "l" + UUID().uuidString.lowercased().replacing("-", with: "")
        try PostgresConnection(url).script(
            "CREATE DATABASE \(name) ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        let error = await refusal(of: PostgresDatabase(url: url.replacing("/optimist?", with: "/\(name)?")))
        #expect(error?.code == .databaseUnsuitable && error?.message.contains("UTF8") == true)
        try PostgresConnection(url).script("DROP DATABASE \(name)")
    }

    @Test func `N8 a user without privileges gets an error that names them`() async throws {
        let database = try SharedDatabase.make()
        let name = "u" + UUID().uuidString.lowercased().replacing("-", with: "")
        try PostgresConnection(database.url).script("CREATE ROLE \(name) LOGIN")
        var theirs = database
        theirs.url = database.url.replacing("user=optimist", with: "user=\(name)")
        let error = await refusal(of: theirs)
        #expect(
            error?.code == .databaseUnsuitable && error?.message.contains("privilege") == true,
            "\(error?.message ?? "")")
    }

    @Test func `N8 a database with an unfinished copy is refused`() async throws {
        let database = try SharedDatabase.make()
        _ = try await open(database)
        let connection = try PostgresConnection(database.url)
        _ = try connection.query(SharedStatement.keepSetting, [.text(EmbeddedCopy.setting), .text("e1")])
        #expect(await refusal(of: database)?.code == .dataInUse)
    }

    // MARK: - During a transaction

    /// A store, and a function that kills its connections from outside.
    private func opened() async throws -> (store: PostgresSyncStore, kill: @Sendable () throws -> Void) {
        let database = try SharedDatabase.make()
        var named = database
        let name = "n" + UUID().uuidString.prefix(8).lowercased()
        named.url += "&application_name=\(name)"
        let store = try await StorePlace.open(named, epoch: "e1", schema: .planner)
        return (
            store,
            {
                try PostgresConnection(database.url).script(
                    "SELECT pg_terminate_backend(pid, 300000) FROM pg_stat_activity WHERE application_name = '\(name)'")
            }
        )
    }

    private func change(_ number: Int) -> RowChange {
        let clock = WriteClock(stamp: Stamp(milliseconds: 1), device: "device")
        var row = MergeRow(generation: 1)
        row.cells["content"] = Cell("x", clock)
        return RowChange(
            key: RowKey.todo(number), row: row, memory: RowMemory(), bornSeq: nil, droppedEntries: [], addedEntries: [])
    }

    @Test func `N9 connections lost while idle are reopened transparently`() async throws {
        let (store, kill) = try await opened()
        for number in 1...3 {
            try kill()
            let seq = try await store.write(account: StoreFile.account, as: .operator) { [change = change(number)] in
                try $0.append([change], day: 1)
            }
            #expect(seq == Int64(number))
        }
    }

    @Test func `N9 a transaction that loses its connection is repeated, and its writes are stored once`() async throws {
        let (store, kill) = try await opened()
        let runs = Mutex(0)
        let seq = try await store.write(account: StoreFile.account, as: .operator) { [change = change(1)] account in
            let isFirst = runs.withLock { runs in
                runs += 1
                return runs == 1
            }
            if isFirst { try kill() }
            _ = try account.notePush(1, device: "d", day: 1)
            return try account.append([change], day: 1)
        }
        #expect(seq == 1 && runs.withLock(\.self) == 2)
        #expect(
            try await store.read(account: StoreFile.account, as: .operator) { try $0.livingCount(type: "Todo") } == 1)
    }

    @Test func `N9 a commit whose answer is lost is not repeated by the server`() async throws {
        let (store, kill) = try await opened()
        let error = await #expect(throws: PostgresError.self) {
            try await store.write(account: StoreFile.account, as: .operator) { [change = change(1)] account in
                _ = try account.append([change], day: 1)
                // The append is not sent yet: it is sent with the commit.
                try kill()
            }
        }
        #expect(error?.kind == .commitUnknown)
        #expect(error?.detail.contains("not stored twice") == true)
        let count = try await store.read(account: StoreFile.account, as: .operator) { try $0.livingCount(type: "Todo") }
        #expect(count <= 1)
    }

    @Test func `N9 a statement that takes too long is refused and stores nothing, and the next works`() async throws {
        let (store, _) = try await opened()
        let error = await #expect(throws: PostgresError.self) {
            try await store.write(account: StoreFile.account, as: .operator) { [change = change(1)] account in
                let connection = (account as? PostgresAccount)?.connection
                _ = try account.append([change], day: 1)
                _ = try connection?.query(SharedDatabase.Statement(sql: "SET LOCAL statement_timeout = 20"))
                _ = try connection?.query(SharedDatabase.Statement(sql: "SELECT pg_sleep(60)"))
            }
        }
        #expect(error?.state == "57014" && error?.detail.contains("busy") == true)
        let seq = try await store.write(account: StoreFile.account, as: .operator) { [change = change(2)] in
            try $0.append([change], day: 1)
        }
        #expect(seq == 1)
    }

    /// Keeps the pool's only connection busy until the gate opens.
    private func hold(_ pool: PostgresPool) async -> (gate: DispatchSemaphore, first: Task<Void, any Error>) {
        let (gate, entered) = (DispatchSemaphore(value: 0), AsyncStream<Void>.makeStream())
        let first = Task {
            try await pool.run { _ in
                entered.continuation.yield()
                gate.wait()
            }
        }
        for await _ in entered.stream { break }
        return (gate, first)
    }

    @Test func `N9 when every connection is in use, a limited number wait, and further callers fail immediately`()
        async throws
    {
        let database = try SharedDatabase.make()
        let pool = PostgresPool(size: 1, maxWaiting: 1, logger: SharedDatabase.quiet) {
            try PostgresConnection(database.url)
        }
        let (gate, first) = await hold(pool)
        let second = Task { try await pool.run { _ in 2 } }
        while pool.waitingCount < 1 { await Task.yield() }
        let refused = await #expect(throws: PostgresError.self) { try await pool.run { _ in 3 } }
        #expect(refused?.kind == .exhausted && refused?.retryAfterSeconds == 1)
        gate.signal()
        try await first.value
        #expect(try await second.value == 2)
    }

    @Test func `N9 work cancelled while it waits is never run`() async throws {
        let database = try SharedDatabase.make()
        let pool = PostgresPool(size: 1, maxWaiting: 9, logger: SharedDatabase.quiet) {
            try PostgresConnection(database.url)
        }
        let (gate, first) = await hold(pool)
        let hasRun = Mutex(false)
        let second = Task { try await pool.run { _ in hasRun.withLock { $0 = true } } }
        while pool.waitingCount < 1 { await Task.yield() }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.signal()
        try await first.value
        let wasRun = hasRun.withLock(\.self)
        #expect(!wasRun)
    }
}
