// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire
import Testing

@_spi(Internals) @testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct OpeningTests {
    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func failure(opening file: URL, migrate: (inout DatabaseMigrator) -> Void = Todo.migrate) -> OptimistError?
    {
        do {
            _ = try Store(at: file, synced: [Todo.self], migrate: migrate)
            return nil
        } catch { return error as? OptimistError }
    }

    /// Creates and closes a file.
    ///
    /// - Returns: Its bytes.
    private func leave(
        _ file: URL, migrate: (inout DatabaseMigrator) -> Void = Todo.migrate,
        changing change: (Database) throws -> Void = { _ in }
    ) throws -> Data {
        let store = try Store(at: file, synced: [Todo.self], migrate: migrate)
        try store.pool.writeWithoutTransaction { db in
            try change(db)
            _ = try db.checkpoint(.truncate)
        }
        try store.pool.close()
        return try Data(contentsOf: file)
    }

    @Test(arguments: ["short", String(repeating: "This is a letter and no database. ", count: 50)])
    func `L1 a file that is not a database is refused with a clear error and left unchanged`(text: String) throws {
        let file = folder.appending(path: "letter.txt")
        try text.write(to: file, atomically: true, encoding: .utf8)
        let error = try #require(failure(opening: file))
        #expect(error.code == .notADatabase)
        #expect(error.message.contains("letter.txt"))
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
    }

    @Test func `W1 a file whose creation was interrupted is opened and created again`() throws {
        let (half, file) = (folder.appending(path: "half.sqlite"), folder.appending(path: "app.sqlite"))
        try DatabaseQueue(path: half.path).writeWithoutTransaction { db in
            // The table does not fit in the cache, so part of it is in the file, and the journal can undo that.
            try db.execute(sql: "PRAGMA cache_size = 1; BEGIN; CREATE TABLE t AS SELECT randomblob(100000) AS b")
            for part in ["", "-journal"] {
                try FileManager.default.copyItem(atPath: half.path + part, toPath: file.path + part)
            }
            try db.execute(sql: "ROLLBACK")
        }
        let store = try Store(at: file, synced: [Todo.self], migrate: Todo.migrate)
        #expect(try store.reader.read { try $0.tableExists("todo") && !$0.tableExists("t") })
    }

    @Test func `L1 L5 a file of a newer engine is refused and left unchanged`() throws {
        let file = folder.appending(path: "new.sqlite")
        let before = try leave(
            file,
            changing: { db in
                try db.execute(sql: "UPDATE optimist_meta SET value = 99 WHERE name = 'version'")
            })
        let error = try #require(failure(opening: file))
        #expect(error.code == .newerVersion)
        #expect(error.remedy == .update)
        #expect(try Data(contentsOf: file) == before)
    }

    @Test func `L1 a file of a newer app is refused and left unchanged`() throws {
        let file = folder.appending(path: "app.sqlite")
        let before = try leave(file) { migrator in
            Todo.migrate(&migrator)
            migrator.registerMigration("next") { _ in }
        }
        #expect(failure(opening: file)?.code == .newerVersion)
        #expect(try Data(contentsOf: file) == before)
    }

    @Test func `L1 a migrator that would erase unsent rows is refused, and the file is left unchanged`() throws {
        let file = folder.appending(path: "app.sqlite")
        let before = try leave(file)
        for migration in ["todo", "other"] {
            let error = failure(opening: file) { migrator in
                migrator.eraseDatabaseOnSchemaChange = true
                migrator.registerMigration(migration) { try $0.execute(sql: "CREATE TABLE other(id BLOB)") }
            }
            #expect(error?.code == .erasingMigrator)
            #expect(error?.message.contains("eraseDatabaseOnSchemaChange") == true)
        }
        #expect(try Data(contentsOf: file) == before)
    }

    @Test func `a table that cannot be synced is refused by name`() throws {
        let file = folder.appending(path: "rowid.sqlite")
        let error = failure(opening: file) { migrator in
            migrator.registerMigration("todo") { db in
                try db.create(table: "todo") { t in
                    t.autoIncrementedPrimaryKey("id")
                    t.column("content", .text)
                }
            }
        }
        #expect(error?.code == .invalidTable)
        #expect(error?.message.contains("todo") == true)
        #expect(error?.message.contains("UUID") == true)
    }

    @Test(arguments: [
        "CREATE TABLE todo(id BLOB PRIMARY KEY NOT NULL, content TEXT COLLATE NOCASE UNIQUE)",
        "CREATE TABLE todo(id BLOB PRIMARY KEY NOT NULL, content TEXT, date TEXT); CREATE UNIQUE INDEX one ON todo(lower(content))",
        "CREATE TABLE todo(id BLOB PRIMARY KEY NOT NULL, content TEXT, done); CREATE UNIQUE INDEX one ON todo(content) WHERE NOT done",
        "CREATE TABLE todo(id BLOB PRIMARY KEY NOT NULL, content TEXT, low TEXT AS (lower(content)) UNIQUE)",
    ])
    func `M6 a unique index that the server cannot check is refused by name`(sql: String) throws {
        let file = folder.appending(path: "unique.sqlite")
        let error = failure(opening: file) { migrator in
            migrator.registerMigration("todo") { try $0.execute(sql: sql) }
        }
        #expect(error?.code == .invalidTable)
        #expect(error?.message.contains("todo") == true && error?.message.contains("unique index") == true)
        let bare = folder.appending(path: "bare.sqlite")
        try DatabaseQueue(path: bare.path).write { try $0.execute(sql: sql) }
        let exported = #expect(throws: OptimistError.self) { try Schema(exporting: bare, id: "x") }
        #expect(exported?.code == .invalidTable)
    }

    private struct Note: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "note"
        var id: String
        var text: String?

        static func migrate(_ migrator: inout DatabaseMigrator) {
            migrator.registerMigration("note") { db in
                try db.create(table: "note") { t in
                    t.primaryKey("id", .text)
                    t.column("text", .text)
                }
            }
        }
    }

    @Test func `ids can be lower-case text, and return as such`() async throws {
        let store = try Store(at: folder.appending(path: "notes.sqlite"), synced: [Note.self], migrate: Note.migrate)
        let id = "6f2c1b9e-2f67-4d2b-9a55-2f0f6a3f9e10"
        try await store.write { try Note(id: id, text: "mine").insert($0) }
        guard case .create(let patch) = try await store.nextPush(PushLimit())?.push.rows.first?.change else {
            Issue.record("no create")
            return
        }
        let echo = RemotePage.Row(table: "note", id: id, content: .row(patch))
        try await store.take([echo], to: 1, of: ["note"])
        #expect(try await store.read { try Note.fetchAll($0) } == [Note(id: id, text: "mine")])
        await #expect(throws: DatabaseError.self) {
            try await store.write { try Note(id: "no uuid", text: "lost?").insert($0) }
        }
    }

    @Test(arguments: ["6F2C1B9E-2F67-4D2B-9A55-2F0F6A3F9E10", "note 1"])
    func `W5 rows from before Optimist whose ids are not valid UUIDs are reported, and not duplicated`(id: String)
        async throws
    {
        func open(_ repair: String? = nil) throws -> Store {
            try Store(at: folder.appending(path: "notes.sqlite"), synced: [Note.self]) { migrator in
                migrator.registerMigration("note") { db in
                    try db.execute(sql: "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT)")
                    try db.execute(sql: "INSERT INTO note VALUES (?, 'old')", arguments: [id])
                }
                guard let repair else { return }
                migrator.registerMigration("ids") { db in try db.execute(sql: repair) }
            }
        }
        let error = #expect(throws: OptimistError.self) { try open() }
        #expect(error?.code == .invalidTable)
        #expect(error?.message.contains("note") == true && error?.message.contains("migration") == true)
        let new = "6f2c1b9e-2f67-4d2b-9a55-2f0f6a3f9e10"
        let store = try open("UPDATE note SET id = '\(new)'")
        #expect(try await store.nextPush(PushLimit())?.push.rows.map(\.id) == [new])
    }

    private struct Group: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "group"
        var id = UUID()
        var order: Int
        var select: String?
    }

    @Test func `tables and columns can be named like SQL keywords`() async throws {
        let store = try Store(at: folder.appending(path: "words.sqlite"), synced: [Group.self]) { migrator in
            migrator.registerMigration("group") { db in
                try db.create(table: "group") { t in
                    t.primaryKey("id", .blob)
                    t.column("order", .integer).notNull().defaults(to: 0)
                    t.column("select", .text)
                }
            }
        }
        var group = Group(order: 1)
        let first = group
        try await store.write { try first.insert($0) }
        try await store.pushAccepted(seq: 1)
        group.order = 2
        let second = group
        try await store.write { try second.update($0) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.apply([.rejected(RemotePush.Refusal(code: "forbidden", message: "no"))], of: batch)
        #expect(try await store.read { try Group.fetchAll($0) } == [first])
        try await store.write { _ = try Group.deleteAll($0) }
        #expect(try await store.pendingCount() == 1)
    }

    @Test func `L1 a migration can rebuild and alter a synced table`() async throws {
        let file = folder.appending(path: "migrated.sqlite")
        do {
            let store = try Store(at: file, synced: [Todo.self], migrate: Todo.migrate)
            try await store.write { try Todo(content: "Tickets").insert($0) }
        }
        let store = try Store(at: file, synced: [Todo.self]) { migrator in
            Todo.migrate(&migrator)
            migrator.registerMigration("rebuild") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE new_todo(id BLOB PRIMARY KEY NOT NULL, content TEXT NOT NULL, date TEXT NOT NULL,
                        priority INTEGER NOT NULL, done BOOLEAN NOT NULL, alarm DATETIME, note TEXT);
                        INSERT INTO new_todo SELECT *, NULL FROM todo;
                        DROP TABLE todo;
                        ALTER TABLE new_todo RENAME TO todo;
                        """)
            }
        }
        #expect(try await store.pendingCount() == 1)
        try await store.write { try Todo(content: "After").insert($0) }
        #expect(try await store.pendingCount() == 2)
        let note = try #require(store.layouts[0][column: "note"])
        #expect(note.bit == 6)
    }

    /// The app's launch waits for each statement.
    @Test func `opening an up-to-date file takes few statements and writes nothing`() throws {
        func statements(opening synced: [any SyncedRecord.Type], _ name: String) throws -> Int {
            func open() throws -> Store {
                try Store(at: folder.appending(path: name), synced: synced, durability: .normal) { migrator in
                    Todo.migrate(&migrator)
                    Photo.migrate(&migrator)
                    Note.migrate(&migrator)
                }
            }
            // After creating a file, a connection may look for temporary tables.
            try open().pool.close()
            let store = try open()
            let count = Mutexed(0)
            let opening = Opening(synced: synced, capture: store.capture, dependencies: store.dependencies)
            try store.pool.write { db in
                db.clearSchemaCache()
                let changes = db.totalChangesCount
                db.trace { _ in count.value += 1 }
                try EngineSchema.migrate(db)
                _ = try opening.prepare(db)
                db.trace(options: [])
                #expect(db.totalChangesCount == changes)
            }
            return count.value
        }
        let one = try statements(opening: [Todo.self], "one.sqlite")
        let three = try statements(opening: [Todo.self, Photo.self, Note.self], "three.sqlite")
        #expect(one <= 32)
        #expect((three - one) / 2 <= 18)
    }
}
