// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Logging
import OptimistTesting
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct LiveQueryTests {
    @Test func `W7 during a burst, states may be skipped, none is partial, and the last one arrives`() async throws {
        let phone = try Phone()
        let store = phone.store
        let writes = 200
        let burst = Task {
            for number in 1...writes {
                // Two rows in each transaction, so an odd count would be half of one.
                try await store.write { db in
                    try Todo(content: "\(number) a").insert(db)
                    try Todo(content: "\(number) b").insert(db)
                }
            }
        }
        var last = -1
        for await state in store.observe({ try Todo.fetchCount($0) }) {
            let count = try state.get()
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
        #expect(try await counts.next()?.get() == 0)
        for number in 1...20 { try await store.write { try Todo(content: "\(number)").insert($0) } }
        try await store.write { try Todo(content: "done", done: true).insert($0) }
        #expect(try await counts.next()?.get() == 1)
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

    @Test func `W7 queries of tables WITHOUT ROWID show own writes and received rows`() async throws {
        let server = AppServer()
        let device = try Device([Shop.Tag.self], migrate: Self.withoutRowIDs)
        let other = try Device([Shop.Tag.self], migrate: Self.withoutRowIDs)
        var words = device.store.observe { try String.fetchAll($0, sql: "SELECT word FROM tag ORDER BY word") }
            .makeAsyncIterator()
        #expect(try await words.next()?.get() == [])
        try await device.execute("INSERT INTO tag(id, word) VALUES (?, 'mine')", [UUID()])
        #expect(try await words.next()?.get() == ["mine"])
        try await other.execute("INSERT INTO tag(id, word) VALUES (?, 'theirs')", [UUID()])
        try await other.sync(with: server)
        try await device.sync(with: server)
        #expect(try await words.next()?.get() == ["mine", "theirs"])
        var drafts = device.store.observe { try Int.fetchOne($0, sql: "SELECT count(*) FROM draft") }
            .makeAsyncIterator()
        #expect(try await drafts.next()?.get() == 0)
        try await device.execute("INSERT INTO draft VALUES ('letter')")
        #expect(try await drafts.next()?.get() == 1, "the table is not synced")
    }

    @Test func `Q5 a live query survives database errors and recovers after a backoff`() async throws {
        let clock = ManualClock()
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try Store(
            at: folder.appending(path: "planner.sqlite"), synced: [Todo.self], durability: .normal,
            dependencies: Dependencies(clock: clock, seed: 3), migrate: Todo.migrate)
        let failures = Mutex(3)
        let query = store.observe { db in
            let fails = failures.withLock { failures in
                failures -= 1
                return failures >= 0
            }
            if fails { throw DatabaseError(resultCode: .SQLITE_IOERR) }
            return try Todo.fetchCount(db)
        }
        var states = query.makeAsyncIterator()
        let failed = try #require(await states.next())
        #expect(failed.failure is DatabaseError)
        #expect(failed.value == nil)
        let time = Task { await clock.pass(.seconds(60), for: nil) { false } }
        let recovered = try #require(await states.next())
        time.cancel()
        #expect(recovered.failure == nil, "the failure is one state")
        #expect(recovered.value == 0)
    }

    /// A record of the planner's table in an older app.
    private struct Entry: Codable, Equatable, FetchableRecord, TableRecord {
        enum Day: String, Codable, DatabaseValueConvertible { case today, tomorrow }
        static let databaseTableName = "todo"
        var content: String
        var date: Day
    }

    @Test func `Q5 a failing query keeps its last result, is logged once, and recovers with the data`()
        async throws
    {
        let log = LogLines()
        let phone = try Phone()
        let store = try Store(
            at: phone.folder.appending(path: "entries.sqlite"), synced: [Todo.self], durability: .normal,
            dependencies: Dependencies(clock: ManualClock()), logger: log.logger, migrate: Todo.migrate)
        try await store.write { try Todo(content: "Tea", date: "today").insert($0) }
        var states = store.observe { try Entry.order(Column("date")).fetchAll($0) }.makeAsyncIterator()
        let tea = [Entry(content: "Tea", date: .today)]
        #expect(try await states.next()?.get() == tea)
        // A newer app wrote these rows, and they arrive with other rows.
        for content in ["Secret", "Milk"] {
            try await store.write { try Todo(content: content, date: "whenever").insert($0) }
        }
        let failing = try #require(await states.next())
        #expect(failing.value == tea)
        #expect(failing.failure is RowDecodingError)
        #expect(throws: RowDecodingError.self) { try failing.get() }
        try await store.write { try $0.execute(sql: "UPDATE todo SET date = 'tomorrow' WHERE date = 'whenever'") }
        let next = await states.next()
        let back = next?.failure == nil ? next : await states.next()
        #expect(try back?.get().count == 3)
        #expect(log.lines.map(\.message) == ["query.failed"])
        let text = try #require(log.lines.first?.metadata["error"])
        #expect(text.contains("Day") && !text.contains("whenever") && !text.contains("Secret"))
    }

    @Test(
        arguments: [
            (
                DatabaseError(resultCode: .SQLITE_IOERR, message: "near secret", sql: "SELECT 'secret'"),
                "SQLite error 10"
            ),
            (OptimistError(.storeClosed, "The store is closed."), "storeClosed: The store is closed."),
            (
                DecodingError.dataCorrupted(.init(codingPath: [Key(stringValue: "date")], debugDescription: "secret")),
                "could not decode date"
            ),
            (Secret(), "Secret"),
        ] as [(any Error, String)])
    func `Q5 the log of a failure contains its kind and place, but no user data`(error: any Error, words: String) {
        #expect(error.withoutValues.contains(words))
        #expect(!error.withoutValues.contains("secret"))
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private struct Secret: Error, CustomStringConvertible { let description = "secret" }

    @Test func `W7 a query emits results and failures, never the same state twice in a row`() {
        var history = QueryHistory<Int>()
        let (one, other) = (DatabaseError(resultCode: .SQLITE_IOERR), DatabaseError(resultCode: .SQLITE_FULL))
        #expect(history.state(after: .success(1))?.value == 1)
        #expect(history.state(after: .success(1)) == nil)
        #expect(history.state(after: .failure(one))?.value == 1)
        #expect(history.state(after: .failure(one)) == nil)
        #expect(history.state(after: .failure(other))?.failure is DatabaseError)
        #expect(history.state(after: .success(1))?.failure == nil, "the failure is over")
        #expect(history.state(after: .success(1)) == nil)
    }
}

private final class LogLines: Sendable {
    struct Line: Sendable {
        var message: String
        var metadata: [String: String]
    }

    private let kept = Mutex<[Line]>([])
    var lines: [Line] { kept.withLock { $0 } }
    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = Line(
                message: "\(event.message)", metadata: (event.metadata ?? [:]).mapValues { "\($0)" })
            log.kept.withLock { $0.append(line) }
        }
    }
}
