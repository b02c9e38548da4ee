// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

/// The app of the files `pantry-N.sqlite` in Fixtures: counters, deletions that wait, rows that wait for other rows, and a
/// server that went back. It never changes, so that every format's file holds the same.
enum ReleasedPantry {
    struct Shelf: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "shelf"
        var id: UUID
        var name: String
    }

    struct Jar: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "jar"
        static let syncRules = SyncRules(counters: ["grams"])
        var id: UUID
        var shelf: UUID?
        var name: String
        var grams: Int
    }

    struct Label: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "label"
        static let syncRules = SyncRules(editWins: true)
        var id: UUID
        var word: String
        var colour: String
    }

    static let tables = ["shelf", "jar", "label"]
    static let account = "pantry.example#1"
    static let milliseconds: Int64 = 1_790_000_000_000

    static func id(_ number: Int) -> UUID { ReleasedPlanner.id(number) }
    static func text(_ number: Int) -> String { id(number).uuidString.lowercased() }

    static func open(_ file: URL, at milliseconds: Int64 = milliseconds) throws -> Store {
        try Store(
            at: file, synced: [Shelf.self, Jar.self, Label.self], durability: .normal,
            surroundings: Surroundings(
                now: { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }, makeID: { id(255) }, seed: 1)
        ) { migrator in
            migrator.registerMigration("pantry") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE shelf(id BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL DEFAULT '');
                        CREATE TABLE jar(id BLOB PRIMARY KEY NOT NULL, shelf BLOB REFERENCES shelf ON DELETE CASCADE,
                            name TEXT NOT NULL DEFAULT '', grams INTEGER NOT NULL DEFAULT 0);
                        CREATE TABLE label(id BLOB PRIMARY KEY NOT NULL, word TEXT NOT NULL DEFAULT '' UNIQUE,
                            colour TEXT NOT NULL DEFAULT '');
                        """)
            }
        }
    }

    // MARK: - The file

    static func make(_ file: URL) async throws {
        let store = try open(file, at: milliseconds - 86_400_000)
        try await store.bind(to: account)
        try await receive(store)
        try await goBack(store)
        try await edit(store)
        try ReleasedPlanner.close(store)
    }

    private static let theirs = WriteClock(stamp: Stamp(milliseconds: milliseconds - 90_000_000), device: "OtherPhone")

    private static func row(_ table: String, _ number: Int, seq: Int64, gen: Int = 1, _ values: JSONObject)
        -> RemotePage.Row
    {
        RemotePage.Row(
            table: table, id: text(number),
            content: .row(RowPatch(generation: gen, clocks: ColumnClocks(common: theirs), seq: seq, values: values)))
    }

    private static func gone(_ table: String, _ number: Int, seq: Int64) -> RemotePage.Row {
        RemotePage.Row(
            table: table, id: text(number), content: .deleted(Tombstone(generation: 2, clock: theirs, seq: seq)))
    }

    private static func take(
        _ rows: [RemotePage.Row], _ store: Store, from: String, to cursor: String, hasMore: Bool = false
    )
        async throws
    {
        var page = RemotePage(from: from, cursor: cursor, hasMore: hasMore, rows: rows)
        page.head = hasMore ? "e1.99" : cursor
        #expect(try await store.apply(page, to: tables, initialCursor: "e1.0"))
    }

    /// Rows of the server's, counters of this device's that it took, and a deletion that it took.
    private static func receive(_ store: Store) async throws {
        try await take(
            [
                row("shelf", 1, seq: 1, ["name": "Top"]), row("shelf", 2, seq: 1, ["name": "Bottom"]),
                row("jar", 11, seq: 1, ["name": "Rice", "shelf": .string(text(1)), "grams": 500]),
                row("jar", 12, seq: 1, ["name": "Salt", "shelf": .string(text(2)), "grams": 100]),
                row("jar", 13, seq: 1, ["name": "Oats", "shelf": .string(text(1))]),
                row("jar", 14, seq: 1, ["name": "Flour", "shelf": .string(text(1))]),
                row("label", 21, seq: 1, ["word": "dry", "colour": "red"]),
                row("label", 22, seq: 1, ["word": "sweet", "colour": "blue", "font": "serif"]),
            ], store, from: "e1.0", to: "e1.1")
        try await store.write { db in
            try db.execute(sql: "UPDATE jar SET grams = grams + 20 WHERE name = 'Rice'")
            try db.execute(sql: "DELETE FROM jar WHERE name = 'Flour'")
            try db.execute(sql: "UPDATE label SET colour = 'green' WHERE word = 'dry'")
        }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.apply(batch.sent.map { _ in .accepted(seq: 5) }, of: batch)
    }

    /// The server has lost what it took, and must get it again.
    private static func goBack(_ store: Store) async throws {
        try await store.rewind(tables, at: "e1.1", to: [("e1", 0), ("e2", 3)].map(RemoteEpoch.init))
        for table in tables {
            try await store.apply { db in
                try db.execute(
                    sql: """
                        UPDATE optimist_table SET cursor = 'e2.3', isComplete = 1, snapshot = NULL, place = NULL, seen = NULL
                        WHERE name = ?
                        """, arguments: [table])
                try db.execute(sql: "DELETE FROM optimist_unseen")
            }
        }
    }

    private static func edit(_ store: Store) async throws {
        try await store.write { db in
            try db.execute(sql: "UPDATE jar SET grams = grams - 7, name = 'Sea salt' WHERE name = 'Salt'")
            try db.execute(sql: "DELETE FROM jar WHERE name = 'Oats'")
            try Jar(id: id(15), shelf: id(2), name: "Beans", grams: 30).insert(db)
            try Label(id: id(23), word: "spicy", colour: "black").insert(db)
        }
        try await store.write { try Label(id: id(24), word: "sour", colour: "white").insert($0) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.apply(
            batch.push.rows.map { row in
                switch row.id {
                case text(23): .retry(after: .seconds(60), WaitReason("schemaTooNew", column: "colour"))
                case text(24):
                    .rejected(
                        RemotePush.Refusal(
                            code: "uniqueViolation", message: "Another label has the word.",
                            columns: ["word", "colour"],
                            winner: text(25)))
                default: .retry(after: nil)
                }
            }, of: batch)
        // A row without its shelf, one whose unique value is taken, and a deletion below which more may come.
        try await take(
            [
                row("jar", 16, seq: 11, ["name": "Tea", "shelf": .string(text(3))]),
                row("label", 26, seq: 12, ["word": "sweet", "colour": "grey"]),
                gone("shelf", 1, seq: 13),
            ], store, from: "e2.3", to: "e2.13", hasMore: true)
    }
}
