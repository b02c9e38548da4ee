// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistTesting
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct LiveQueryTests {
    @Test func `W7 under a burst states may be skipped, none is half, and the last one arrives`() async throws {
        let phone = try Phone()
        let store = phone.store
        let writes = 200
        let burst = Task {
            for number in 1...writes {
                // Two rows in each transaction: an odd count would be half of one.
                try await store.write { db in
                    try Todo(content: "\(number) a").insert(db)
                    try Todo(content: "\(number) b").insert(db)
                }
            }
        }
        var last = -1
        for await count in store.observe({ try Todo.fetchCount($0) }) {
            #expect(count % 2 == 0 && count > last)
            last = count
            if count == 2 * writes { break }
        }
        #expect(last == 2 * writes)
        try await burst.value
    }

    @Test func `W7 a transaction that does not change the result emits nothing`() async throws {
        let phone = try Phone()
        let store = phone.store
        var counts = store.observe { try Todo.filter(Column("done") == true).fetchCount($0) }.makeAsyncIterator()
        #expect(await counts.next() == 0)
        for number in 1...20 { try await store.write { try Todo(content: "\(number)").insert($0) } }
        try await store.write { try Todo(content: "done", done: true).insert($0) }
        #expect(await counts.next() == 1)
    }

    private static func withoutRowIDs(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("tag") { db in
            try db.execute(
                sql: """
                    CREATE TABLE tag(id BLOB PRIMARY KEY NOT NULL, word TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
                    CREATE TABLE draft(name TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
                    """)
        }
    }

    @Test func `W7 tables WITHOUT ROWID show own writes and received rows`() async throws {
        let server = AppServer()
        let device = try Device([Shop.Tag.self], migrate: Self.withoutRowIDs)
        let other = try Device([Shop.Tag.self], migrate: Self.withoutRowIDs)
        var words = device.store.observe { try String.fetchAll($0, sql: "SELECT word FROM tag ORDER BY word") }
            .makeAsyncIterator()
        #expect(await words.next() == [])
        try await device.execute("INSERT INTO tag(id, word) VALUES (?, 'mine')", [UUID()])
        #expect(await words.next() == ["mine"])
        try await other.execute("INSERT INTO tag(id, word) VALUES (?, 'theirs')", [UUID()])
        try await other.sync(with: server)
        try await device.sync(with: server)
        #expect(await words.next() == ["mine", "theirs"])
        var drafts = device.store.observe { try Int.fetchOne($0, sql: "SELECT count(*) FROM draft") }
            .makeAsyncIterator()
        #expect(await drafts.next() == 0)
        try await device.execute("INSERT INTO draft VALUES ('letter')")
        #expect(await drafts.next() == 1, "a table that is not synced")
    }

    @Test func `Q5 a live query survives errors of the database, and comes back after a backoff`() async throws {
        let clock = ManualClock()
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try Store(
            at: folder.appending(path: "planner.sqlite"), synced: [Todo.self], durability: .normal,
            surroundings: Surroundings(clock: clock, seed: 3), migrate: Todo.migrate)
        let failures = Mutex(3)
        let query = store.observe { db in
            let fails = failures.withLock { failures in
                failures -= 1
                return failures >= 0
            }
            if fails { throw DatabaseError(resultCode: .SQLITE_IOERR) }
            return try Todo.fetchCount(db)
        }
        let first = Task { await query.first { _ in true } }
        for _ in 0..<3 {
            await clock.sleepers(atLeast: 1)
            clock.advance(by: .seconds(60))
        }
        #expect(await first.value == 0)
    }
}
