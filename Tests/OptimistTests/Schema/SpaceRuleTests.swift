// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistWire

@Suite(.timeLimit(.minutes(20)))
struct SpaceRuleTests {
    private struct List: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "list"
        static let syncRules = SyncRules(space: .own("space"))
        var id: UUID
        var name = ""
        var space: UUID?
    }

    private struct Item: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "item"
        static let syncRules = SyncRules(space: .of("listID"))
        var id: UUID
        var listID: UUID
        var noteID: UUID?
    }

    private struct Note: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "note"
        var id: UUID
    }

    private static let synced: [any SyncedRecord.Type] = [List.self, Item.self, Note.self]
    private static let list = "CREATE TABLE list(id BLOB PRIMARY KEY NOT NULL, name TEXT, space BLOB);"
    private static let item = """
        CREATE TABLE item(
            id BLOB PRIMARY KEY NOT NULL, listID BLOB NOT NULL REFERENCES list(id) ON DELETE CASCADE, noteID BLOB,
            place INTEGER);
        """
    private static let note = "CREATE TABLE note(id BLOB PRIMARY KEY NOT NULL);"

    private func problems(_ tables: String) throws -> [TableProblem] {
        let queue = try DatabaseQueue()
        try queue.write { try $0.execute(sql: tables) }
        return try Store.validate(Self.synced, in: queue)
    }

    @Test func `P3 a root with a nullable column and a child with a foreign key are shared without problems`() throws {
        #expect(try problems(Self.list + Self.item + Self.note).isEmpty)
    }

    @Test(arguments: [
        (
            "space BLOB", "space BLOB NOT NULL",
            "list.space: the rule SyncRules.space names \"space\", which must be able"
        ),
        ("space BLOB", "place BLOB", "list.space: the rule SyncRules.space names \"space\", which is not a column."),
        (
            " REFERENCES list(id) ON DELETE CASCADE", "",
            "item.listID: the rule SyncRules.space names \"listID\" as the parent"
        ),
        ("REFERENCES list(id)", "REFERENCES note(id)", "item.listID: the rule SyncRules.space leads to \"note\""),
        (
            "noteID BLOB", "noteID BLOB REFERENCES note(id)",
            "item.listID: the rule SyncRules.space lets rows be in a space"
        ),
        ("name TEXT", "name TEXT UNIQUE", "list.name: it is UNIQUE in all spaces"),
        ("place INTEGER", "place INTEGER UNIQUE", "item.place: it is UNIQUE in all spaces"),
    ])
    func `P3 a table that cannot be shared is refused with what to change`(
        part: String, other: String, start: String
    ) throws {
        let tables = (Self.list + Self.item + Self.note).replacing(part, with: other)
        let problems = try problems(tables)
        #expect(problems.contains { $0.isFatal && $0.description.hasPrefix(start) }, "\(problems)")
    }

    @Test func `P3 the check of a root's unique index asks for a second index on the rows without a space`() throws {
        let unique = "CREATE UNIQUE INDEX a ON list(space, name);"
        let open = try problems(Self.list + Self.item + Self.note + unique)
        #expect(open.contains { $0.description.contains("ON list(name) WHERE space IS NULL") && !$0.isFatal })
        let both = try problems(
            Self.list + Self.item + Self.note + unique
                + #"CREATE UNIQUE INDEX b ON list(name) WHERE ("space" IS NULL)"#)
        #expect(both.filter { $0.table == "list" }.allSatisfy { $0.description.contains("\"@unique\"") })
        let other = try problems(
            Self.list + Self.item + Self.note + "CREATE UNIQUE INDEX b ON list(name) WHERE space IS NOT NULL")
        #expect(other.contains { $0.isFatal && $0.description.contains("WHERE clause") })
    }

    @Test func `P3 the exported schema has the space rules, and its unique indexes leave out the space`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "lists.sqlite")
        let store = try Store(at: file, synced: Self.synced, durability: .normal) { migrator in
            migrator.registerMigration("1") { db in
                try db.execute(
                    sql: Self.list + Self.item + Self.note + """
                        CREATE UNIQUE INDEX a ON list(space, name);
                        CREATE UNIQUE INDEX b ON list(name) WHERE space IS NULL;
                        """)
            }
        }
        try await store.close()
        let schema = try Schema(exporting: file, id: "lists")
        try schema.check()
        #expect(schema.types["list"]?.space == .own("space"))
        #expect(schema.types["list"]?.columns["space"] == ColumnSchema(.ref))
        #expect(schema.types["list"]?.uniqueIndexes == [UniqueIndex(["name"])])
        #expect(schema.types["item"]?.space == .of("listID"))
        #expect(schema.types["note"]?.space == nil)
        var older = schema
        older.types["list"]?.space = nil
        older.types["list"]?.columns["space"]?.type = .data
        older.types["item"]?.space = nil
        try older.check()
        let update = try SchemaUpdate(of: older, exporting: file)
        #expect(update.schema.types == schema.types)
        #expect(update.notes.contains("The space of list follows the app's code."))
        #expect(!update.notes.contains { $0.contains("stays") })
    }

    @Test func `P3 a schema follows an app that no longer shares a table`() throws {
        var (shared, plain) = (TypeSchema(columns: ["space": ColumnSchema(.ref)]), TypeSchema(columns: [:]))
        shared.space = .own("space")
        plain.columns["space"] = ColumnSchema(.data)
        let update = try SchemaUpdate(
            of: Schema(id: "x", version: 2, types: ["list": shared]), from: Schema(id: "x", types: ["list": plain]),
            FormerNameNote([:]), version: 3)
        try update.schema.check()
        #expect(update.schema.types["list"]?.columns["space"]?.type == .data)
        #expect(update.schema.types["list"]?.space == nil)
    }

    @Test func `P3 an id of a space is the same on the wire, whether stored as bytes or as text`() throws {
        struct Worded: Codable, Identifiable, SyncedRecord {
            static let databaseTableName = "worded"
            static let syncRules = SyncRules(space: .own("space"))
            static func databaseUUIDEncodingStrategy(for column: String) -> DatabaseUUIDEncodingStrategy {
                .lowercaseString
            }
            var id: UUID
            var space: UUID?
        }
        let queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(sql: Self.list + "CREATE TABLE worded(id TEXT PRIMARY KEY NOT NULL, space TEXT)")
            try EngineSchema.migrate(db)
            let id = try #require(UUID(uuidString: "0A000000-0000-4000-8000-00000000000B"))
            for record in [List.self, Worded.self] as [any SyncedRecord.Type] {
                let layout = try TableLayout(of: record, among: [List.self, Worded.self], in: db)
                if record == List.self {
                    try List(id: id, space: id).insert(db)
                } else {
                    try Worded(id: id, space: id).insert(db)
                }
                let stored = try #require(
                    try DatabaseValue.fetchOne(db, sql: "SELECT id FROM \(layout.quotedName)"))
                let values = try AppTable(layout: layout, db: db).values(stored)
                #expect(values?["space"]?.string == "0a000000-0000-4000-8000-00000000000b")
            }
        }
    }
}
