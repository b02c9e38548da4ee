// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import Testing

@_spi(Internals) @testable import Optimist
@_spi(Internals) @testable import OptimistWire

@Suite(.timeLimit(.minutes(20)))
struct SchemaUpdateTests {
    private struct Picture: Codable, SyncedRecord {
        static let databaseTableName = "picture"
        var id: UUID
    }

    private struct Photo: Codable, SyncedRecord {
        static let databaseTableName = "photo"
        static let syncRules = SyncRules(
            editWins: true, formerColumns: ["caption": "title", "title": "name"], formerNames: ["picture"])
        var id: UUID
    }

    private struct Mark: Codable, SyncedRecord {
        static let databaseTableName = "mark"
        var id: UUID
    }

    private static let first = """
        CREATE TABLE picture(id BLOB PRIMARY KEY NOT NULL, title TEXT UNIQUE, taken TEXT);
        CREATE TABLE mark(
            id BLOB PRIMARY KEY NOT NULL, pictureId BLOB REFERENCES picture(id) ON DELETE CASCADE, old TEXT);
        """
    private static let second = """
        ALTER TABLE picture RENAME TO photo;
        ALTER TABLE photo RENAME COLUMN title TO caption;
        ALTER TABLE photo ADD COLUMN place TEXT;
        CREATE UNIQUE INDEX place ON photo(place);
        CREATE TABLE tag(id BLOB PRIMARY KEY NOT NULL, name TEXT);
        """

    private struct Tag: Codable, SyncedRecord {
        static let databaseTableName = "tag"
        var id: UUID
    }

    /// The first export, after edits by hand.
    private static let edited = Schema(
        id: "album", version: 2,
        types: [
            "picture": TypeSchema(
                columns: [
                    "title": ColumnSchema(
                        .string, isRequired: true, maxBytes: 500, formerNames: [FormerName("headline", until: 1)]),
                    "taken": ColumnSchema(.date),
                ],
                uniqueIndexes: [UniqueIndex(["title"], onCollision: .mergeInto)], minClientVersion: 2),
            "mark": TypeSchema(
                columns: [
                    "pictureId": ColumnSchema(.ref, target: "picture", onDelete: .cascade),
                    "old": ColumnSchema(.string),
                ], editWins: true),
            "gone": TypeSchema(columns: [:]),
        ])

    private func withFile(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appending(path: "album.sqlite"))
    }

    private func open(_ file: URL, _ synced: [any SyncedRecord.Type], _ migrations: [String]) throws {
        _ = try Store(at: file, synced: synced, durability: .normal) { migrator in
            for (index, sql) in migrations.enumerated() {
                migrator.registerMigration("\(index)") { db in try db.execute(sql: sql) }
            }
        }
    }

    @Test func `a second export keeps edits by hand and follows the app's renames`() throws {
        try withFile { file in
            try open(file, [Picture.self, Mark.self], [Self.first])
            let same = try SchemaUpdate(of: Self.edited, exporting: file)
            #expect(same.schema == Self.edited)
            #expect(
                same.notes == [
                    "picture.taken stays date. In the database it is string.",
                    "The database does not have the table gone. It stays in the schema.",
                ])

            try open(file, [Photo.self, Mark.self, Tag.self], [Self.first, Self.second])
            let update = try SchemaUpdate(of: Self.edited, exporting: file)
            var wanted = Self.edited
            wanted.version = 3
            let picture = wanted.types.removeValue(forKey: "picture")
            var photo = try #require(picture)
            photo.formerNames = [FormerName("picture", until: 2)]
            photo.columns["caption"] = photo.columns.removeValue(forKey: "title")
            photo.columns["caption"]?.formerNames = [FormerName("headline", until: 1), FormerName("title", until: 2)]
            photo.columns["place"] = ColumnSchema(.string)
            photo.uniqueIndexes = [UniqueIndex(["caption"], onCollision: .mergeInto), UniqueIndex(["place"])]
            photo.editWins = true
            wanted.types["photo"] = photo
            wanted.types["mark"]?.columns["pictureId"]?.target = "photo"
            wanted.types["tag"] = TypeSchema(columns: ["name": ColumnSchema(.string)])
            #expect(update.schema == wanted, "\(update.schema.json)")
            #expect(update.notes.contains("photo.caption was title until version 2."))
            let again = try SchemaUpdate(of: update.schema, exporting: file)
            #expect(again.schema == update.schema, "once")
        }
    }

    @Test func `a column renamed twice since the last export follows its earliest known name`() throws {
        let note = FormerNameNote(["photo": Photo.syncRules])
        let served = Schema(id: "x", version: 4, types: ["photo": TypeSchema(columns: ["name": ColumnSchema(.int)])])
        let exported = Schema(id: "x", types: ["photo": TypeSchema(columns: ["caption": ColumnSchema(.string)])])
        let update = try SchemaUpdate(of: served, from: exported, note, version: 7)
        let caption = update.schema.types["photo"]?.columns["caption"]
        #expect(caption == ColumnSchema(.int, formerNames: [FormerName("name", until: 4)]))
        #expect(update.schema.version == 7)
        #expect(throws: SchemaError.self) { try SchemaUpdate(of: served, from: exported, note, version: 4) }
    }

    @Test func `a file in a missing folder is refused with an error that names both`() {
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        let error = #expect(throws: OptimistError.self) { try open(folder.appending(path: "a.sqlite"), [], []) }
        #expect(error?.code == .noFolder)
        #expect(
            error?.message == "The folder \(folder.path) for the database a.sqlite does not exist. Create it first.")
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test func `former names declared in code are stored in the file, and removed with the code`() throws {
        try withFile { file in
            try open(file, [Photo.self], ["CREATE TABLE photo(id BLOB PRIMARY KEY NOT NULL, caption TEXT)"])
            func note() throws -> FormerNameNote { try StoreFile(url: file).reading { try FormerNameNote(in: $0) } }
            #expect(try note() == FormerNameNote(of: [Photo.self]))
            #expect(try note().rules["photo"]?.formerColumns == Photo.syncRules.formerColumns)
            struct Plain: Codable, SyncedRecord {
                static let databaseTableName = "photo"
                var id: UUID
            }
            try open(file, [Plain.self], ["CREATE TABLE photo(id BLOB PRIMARY KEY NOT NULL, caption TEXT)"])
            #expect(try note() == FormerNameNote())
        }
    }
}
