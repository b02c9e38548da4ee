// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

/// The app whose files are in Fixtures, one for each released format of the engine's tables. It never changes, so that
/// all files have the same content.
enum ReleasedPlanner {
    struct Project: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "project"
        var id: UUID
        var name: String
    }

    struct Task: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "task"
        var id: UUID
        var project: UUID?
        var content: String
        var priority: Int
        var due: Date?
    }

    static let account = "planner.example#1"
    static let cursor = "e1.7"
    /// 2026-09-21, after all waits in the file have ended.
    static let milliseconds: Int64 = 1_790_000_000_000

    static func id(_ number: Int) -> UUID {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number)))
    }

    static func open(_ file: URL, at milliseconds: Int64 = milliseconds) throws -> Store {
        try Store(
            at: file, synced: [Project.self, Task.self], durability: .normal,
            dependencies: Dependencies(
                now: { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }, makeID: { id(255) }, seed: 1)
        ) { migrator in
            migrator.registerMigration("planner") { db in
                try db.create(table: "project") { t in
                    t.primaryKey("id", .blob)
                    t.column("name", .text).notNull().defaults(to: "")
                }
                try db.create(table: "task") { t in
                    t.primaryKey("id", .blob)
                    t.column("project", .blob).references("project")
                    t.column("content", .text).notNull().defaults(to: "")
                    t.column("priority", .integer).notNull().defaults(to: 0)
                    t.column("due", .datetime)
                }
            }
        }
    }

    /// Writes a file with rows in all states. The last push is unanswered.
    static func make(_ file: URL) async throws {
        let store = try open(file, at: milliseconds - 86_400_000)
        try await store.bind(to: account)
        try await write(to: store)
        try await synchronise(store)
        try await edit(store)
        try await store.saveWait(of: .pull, failures: 4, wait: .seconds(8), isDemanded: false)
        try close(store)
    }

    static func close(_ store: Store) throws {
        try store.pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try store.pool.close()
    }

    private static func task(_ number: Int, _ content: String) -> Task {
        Task(id: id(number), project: id(1), content: content, priority: 1, due: Date(timeIntervalSince1970: 1e9))
    }

    private static func write(to store: Store) async throws {
        try await store.write { db in
            try Project(id: id(1), name: "Home").insert(db)
            for (number, content) in [
                (2, "synced"), (3, "edited"), (4, "deleted"), (5, "gone"), (6, "lost to another"), (7, "refused"),
                (8, "sent, then edited"),
            ] { try task(number, content).insert(db) }
        }
    }

    private static func synchronise(_ store: Store) async throws {
        let first = try #require(try await store.nextPush(PushLimit()))
        try await store.apply(first.sent.map { _ in .accepted(seq: 1) }, of: first)
        try await store.write { db in
            try db.execute(sql: "DELETE FROM task WHERE content = 'gone'")
            try db.execute(sql: "UPDATE task SET priority = 2 WHERE content = 'lost to another'")
            try db.execute(sql: "UPDATE task SET content = 'refused, mine' WHERE content = 'refused'")
        }
        let second = try #require(try await store.nextPush(PushLimit()))
        let theirs = WriteClock(stamp: Stamp(milliseconds: milliseconds), device: "OtherPhone")
        try await store.apply(
            second.push.rows.map { row in
                switch UUID(uuidString: row.id) {
                case id(5): .accepted(seq: 2)
                case id(6):
                    .merged(
                        seq: 2, RowPatch(clocks: ColumnClocks(common: theirs), values: ["priority": 9]))
                default:
                    .rejected(RemotePush.Refusal(code: "invalidProperties", column: "content", message: "Too long."))
                }
            }, of: second)
        func received(_ number: Int, _ values: JSONObject) -> RemotePage.Row {
            RemotePage.Row(
                table: "task", id: id(number).uuidString.lowercased(),
                content: .row(RowPatch(generation: 1, clocks: ColumnClocks(common: theirs), seq: 7, values: values)))
        }
        let page = RemotePage(
            from: "e1.0", cursor: cursor, hasMore: false,
            rows: [
                received(9, ["content": "received", "priority": 3]),
                received(10, ["content": "parked", "project": .string(id(99).uuidString.lowercased())]),
            ])
        #expect(try await store.apply(page, to: ["project", "task"], initialCursor: "e1.0"))
    }

    private static func edit(_ store: Store) async throws {
        try await store.write {
            try $0.execute(sql: "UPDATE task SET content = 'sent' WHERE id = ?", arguments: [id(8)])
        }
        _ = try #require(try await store.nextPush(PushLimit()))
        try await store.write { db in
            try db.execute(sql: "UPDATE task SET content = 'sent, and edited since' WHERE id = ?", arguments: [id(8)])
            try db.execute(sql: "UPDATE task SET priority = 5, due = NULL WHERE id = ?", arguments: [id(3)])
            try db.execute(sql: "DELETE FROM task WHERE id = ?", arguments: [id(4)])
            try task(11, "new").insert(db)
        }
        try await store.write { try $0.execute(sql: "UPDATE task SET priority = 6 WHERE id = ?", arguments: [id(11)]) }
        try await store.apply { db in
            try db.execute(
                sql: "UPDATE optimist_edit SET due = ?, blocked = ? WHERE id = ?",
                arguments: [milliseconds - 1, "project:\(id(98).uuidString.lowercased())", id(11)])
        }
    }
}

/// Writes the file of the current format: see Fixtures/README.md.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["OPTIMIST_MAKE_FIXTURE"] != nil))
struct FixtureMaking {
    @Test func `the file of the current format is written`() async throws {
        let folder = URL(filePath: try #require(ProcessInfo.processInfo.environment["OPTIMIST_MAKE_FIXTURE"]))
        let file = folder.appending(path: "format-\(EngineSchema.version).sqlite")
        try? FileManager.default.removeItem(at: file)
        try await ReleasedPlanner.make(file)
    }
}
