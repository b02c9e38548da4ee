// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistServer

/// The embedded database: opening, durability and refusals.
@Suite(.embedded, .timeLimit(.minutes(20)))
struct StoreTests {
    let site = Site()

    @Test func `a commit is durable: the writer uses synchronous FULL and a write-ahead log`() async throws {
        let server = try await site.open()
        let settings = try await server.database.pool.write { db in
            (try Int.fetchOne(db, sql: "PRAGMA synchronous"), try String.fetchOne(db, sql: "PRAGMA journal_mode"))
        }
        #expect(settings == (2, "wal"))
    }

    @Test func `concurrent writes share one commit`() async throws {
        let results = try await together { number in number % 10 == 0 ? .beforeWriting : nil }
        #expect(results.stored == 90 && results.succeeded == 90 && results.commits == 1)
    }

    @Test func `a write that fails halfway is undone without affecting others`() async throws {
        let results = try await together { number in number % 10 == 0 ? .afterWriting : nil }
        // Only writes that shared a transaction with a failed one are repeated alone.
        #expect(results.stored == 90 && results.succeeded == 90 && (1...90).contains(results.commits))
    }

    private enum Failure { case beforeWriting, afterWriting }

    /// Makes 100 writes while the writer is busy.
    private func together(
        fails: @escaping @Sendable (Int) -> Failure?
    ) async throws -> (stored: Int?, succeeded: Int, commits: Int) {
        let pool = try await site.open().database.pool
        try await pool.write { try $0.execute(sql: "CREATE TABLE t (n INTEGER PRIMARY KEY)") }
        let commits = GroupCommit(writer: pool) { .zero }
        let counter = CommitCounter()
        pool.add(transactionObserver: counter, extent: .databaseLifetime)
        let gate = await pool.hold()
        let succeeded = await withTaskGroup(of: Bool.self, returning: Int.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let isStored = try? await commits.write { db in
                        if fails(number) == .beforeWriting { throw CancellationError() }
                        try db.execute(sql: "INSERT INTO t VALUES (?)", arguments: [number])
                        if fails(number) == .afterWriting { throw CancellationError() }
                        return true
                    }
                    return isStored == true
                }
            }
            while commits.waitingCount < 100 { await Task.yield() }
            gate.signal()
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        let stored = try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
        return (stored, succeeded, counter.commits)
    }

    @Test func `data of a later version is refused with advice and left unchanged`() async throws {
        try await site.open().database.pool.close()
        try await DatabaseQueue(path: site.file.path).writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = DELETE; PRAGMA user_version = 99")
        }
        let before = try Data(contentsOf: site.file)
        let refusal = await #expect(throws: OptimistError.self) { _ = try await site.open() }
        #expect(refusal?.code == .newerData)
        #expect(refusal?.message.contains("later version") == true)
        #expect(try Data(contentsOf: site.file) == before)
    }

    @Test func `a file whose creation was interrupted is opened and created again`() async throws {
        try site.makeDirectory()
        let (half, file) = (site.directory.appending(path: "half.sqlite").path, site.file.path)
        try await DatabaseQueue(path: half).writeWithoutTransaction { db in
            // Larger than the cache, so part of the change is in the file, and the journal can undo it.
            try db.execute(sql: "PRAGMA cache_size = 1; BEGIN; CREATE TABLE t AS SELECT randomblob(100000) AS b")
            for part in ["", "-journal"] {
                try FileManager.default.copyItem(atPath: half + part, toPath: file + part)
            }
            try db.execute(sql: "ROLLBACK")
        }
        _ = try await site.open().signUp()
    }

    @Test func `a data directory belongs to one server at a time`() async throws {
        let server = try await site.open()
        let refusal = await #expect(throws: OptimistError.self) { _ = try await site.open(waits: false) }
        #expect(refusal?.code == .dataInUse)
        _ = try await server.signUp()
    }

    @Test func `a file that is not a database is refused with advice and left unchanged`() async throws {
        try site.makeDirectory()
        let junk = Data(repeating: 0x41, count: 8192)
        try junk.write(to: site.file)
        let refusal = await #expect(throws: OptimistError.self) { _ = try await site.open() }
        #expect(refusal?.code == .unreadableData)
        #expect(try Data(contentsOf: site.file) == junk)
    }

    @Test(arguments: [
        (ResultCode.SQLITE_BUSY, OptimistError.Code.dataInUse), (.SQLITE_LOCKED, .dataInUse),
        (.SQLITE_NOTADB, .unreadableData), (.SQLITE_CORRUPT, .unreadableData),
    ])
    func `the advice to move a file away is given only if the file is not a sound database`(
        result: ResultCode, code: OptimistError.Code
    ) {
        let problem = ServerDatabase.problem(DatabaseError(resultCode: result), at: "a.sqlite") as? OptimistError
        #expect(problem?.code == code)
        #expect(problem?.message.contains("Move it away") == (code == .unreadableData))
    }

    @Test func `another program's database is refused and left unchanged`() async throws {
        try site.makeDirectory()
        try await DatabaseQueue(path: site.file.path).write { try $0.execute(sql: "CREATE TABLE theirs (x)") }
        let before = try Data(contentsOf: site.file)
        let refusal = await #expect(throws: OptimistError.self) { _ = try await site.open() }
        #expect(refusal?.code == .unreadableData)
        #expect(try Data(contentsOf: site.file) == before)
    }

    @Test func `a schema with a higher version replaces the former; any other change is refused`() async throws {
        _ = try await site.open()
        var schema = Schema.planner
        schema.types["todo"]?.columns["place"] = ColumnSchema(.string)
        let same = await #expect(throws: OptimistError.self) { _ = try await site.open(schema: schema) }
        #expect(same?.code == .schemaConflict && same?.message.contains("Increase its \"version\"") == true)
        schema.version = 2
        _ = try await site.open(schema: schema)
        let lower = await #expect(throws: OptimistError.self) { _ = try await site.open() }
        #expect(lower?.code == .schemaConflict && lower?.message.contains("version 2") == true)
        var other = schema
        other.id = "other"
        #expect(
            await #expect(throws: OptimistError.self) { _ = try await site.open(schema: other) }?.code
                == .schemaConflict)
    }

    @Test func `an index required by a later schema contains existing rows`() async throws {
        let person = try await personWithList()
        var schema = Schema.projects
        schema.version = 2
        schema.types["List"]?.uniqueIndexes = [UniqueIndex(["name"])]
        let server = try await site.open(schema: schema)
        let answer = try await server.call(person, "List/set", ["create": [RowKey.list(2).id: ["name": "Trip"]]])
        let error = SetAnswer(json: answer)?.notCreated.first?.error
        #expect(error?.type == "uniqueViolation" && error?.winner == RowKey.list(1).id)
    }

    @Test func `M6 an index that treated canonically equivalent texts as equal is rebuilt`() async throws {
        var schema = Schema.projects
        schema.types["List"]?.uniqueIndexes = [UniqueIndex(["name"])]
        let person = try await personWithFormerIndex(schema)
        let server = try await site.open(schema: schema)
        func error(_ number: Int, _ name: JSON) async throws -> SetError? {
            let answer = try await server.call(person, "List/set", ["create": [RowKey.list(number).id: ["name": name]]])
            return SetAnswer(json: answer)?.notCreated.first?.error
        }
        #expect(try await error(2, "Cafe\u{301}") == nil)
        #expect(try await error(3, "Caf\u{E9}")?.winner == RowKey.list(1).id)
    }

    /// A list with a composed letter, indexed under its former decomposed form.
    private func personWithFormerIndex(_ schema: Schema) async throws -> Person {
        let server = try await site.open(schema: schema)
        let person = try await server.signUp()
        _ = try await server.call(person, "List/set", ["create": [RowKey.list(1).id: ["name": "Caf\u{E9}"]]])
        try await server.database.pool.write { db in
            try db.execute(
                sql: "UPDATE optimist_index SET key = ? WHERE type = 'List'", arguments: ["[\"Cafe\u{301}\"]"])
            // The table's first format was not recorded.
            try db.execute(
                sql: "UPDATE optimist_settings SET value = substr(value, instr(value, '{')) WHERE name = 'indexes'")
        }
        return person
    }

    private func personWithList() async throws -> Person {
        let server = try await site.open(schema: .projects)
        let person = try await server.signUp()
        _ = try await server.call(person, "List/set", ["create": [RowKey.list(1).id: ["name": "Trip"]]])
        return person
    }

    @Test func `each type has a view that reads like a table`() async throws {
        let server = try await site.open()
        let person = try await server.signUp()
        _ = try await server.call(person, "todo/set", ["create": [RowKey.id(1): ["content": "milk", "priority": 2]]])
        _ = try await server.call(person, "todo/set", ["create": [RowKey.id(2): ["content": "gone"]]])
        _ = try await server.call(person, "todo/set", ["destroy": [.string(RowKey.id(2))]])
        let rows: [[String?]] = try await server.database.pool.read { db in
            try Row.fetchAll(db, sql: "SELECT content, CAST(priority AS TEXT), \"@account\" FROM todo").map {
                [$0[0], $0[1], $0[2]]
            }
        }
        #expect(rows == [["milk", "2", person.account]])
    }

    @Test func `the keys are not in the database, and only the owner can read them`() async throws {
        _ = try await site.open()
        let file = site.directory.appending(path: "keys.json")
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let directory = try FileManager.default.attributesOfItem(atPath: site.directory.path)[.posixPermissions] as? Int
        #expect(directory == 0o700)
    }
}

private final class CommitCounter: TransactionObserver, Sendable {
    private let count = Mutex(0)
    var commits: Int { count.withLock(\.self) }
    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) { count.withLock { $0 += 1 } }
    func databaseDidRollback(_ db: Database) {}
}
