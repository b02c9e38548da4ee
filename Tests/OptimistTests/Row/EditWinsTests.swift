// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import TestForm
import Testing

@testable import Optimist

struct Note: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "note"
    static let syncRules = SyncRules(counters: ["likes"], editWins: true)
    var id = UUID()
    var title = ""
    var body: String?
    var likes = 0

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("note") { db in
            try db.create(table: "note") { t in
                t.primaryKey("id", .blob)
                t.column("title", .text).notNull().defaults(to: "")
                t.column("body", .text)
                t.column("likes", .integer).notNull().defaults(to: 0)
            }
        }
    }
}

/// The record in an older app that knows only the counter.
private struct CountedNote: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "note"
    static let syncRules = Note.syncRules
    var id = UUID()
    var likes = 0

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("note") { db in
            try db.create(table: "note") { t in
                t.primaryKey("id", .blob)
                t.column("likes", .integer).notNull().defaults(to: 0)
            }
        }
    }
}

@Suite(.timeLimit(.minutes(20)))
struct EditWinsTests {
    let server = AppServer()
    let phone: Device
    let other: Device
    let note = Note(title: "Lake", body: "blue")

    init() async throws {
        phone = try Device([Note.self], migrate: Note.migrate)
        other = try Device([Note.self], at: 1_790_000_005_000, migrate: Note.migrate)
        let note = note
        try await phone.store.write { try note.insert($0) }
        try await phone.sync(with: server)
        try await other.sync(with: server)
    }

    @Test func `M2 R2 a later edit keeps its row through a received delete, and the server revives the row`()
        async throws
    {
        try await other.execute("DELETE FROM note")
        try await other.sync(with: server)
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET title = 'later'")
        try await phone.apply(try await phone.pull(from: server))
        #expect(try await phone.rows("note").count == 1)
        #expect(try await phone.store.pendingCount() == 1)
        #expect(try await phone.store.conflicts().isEmpty)
        for device in [phone, other, phone] { try await device.sync(with: server) }
        let expected = [note.id.uuidString.lowercased(): ["title": "later", "body": "blue", "likes": 0] as JSONObject]
        #expect(server.rows("note") == expected)
        for device in [phone, other] { #expect(try await device.rows("note") == expected) }
        #expect(try await phone.store.entry(id: note.id)?.generation == 3)
    }

    /// An older app that knows only the counter creates the row, so the server lacks its other values.
    @Test func `M2 L1 an edit revives a deleted row that an older app created without values`() async throws {
        let id = UUID()
        let device = try Device([CountedNote.self], migrate: CountedNote.migrate)
        try await device.store.write { try CountedNote(id: id).insert($0) }
        for device in [device, other] { try await device.sync(with: server) }
        try await other.execute("DELETE FROM note WHERE id = ?", [id])
        try await other.sync(with: server)
        try device.open([Note.self]) { migrator in
            CountedNote.migrate(&migrator)
            migrator.registerMigration("text") { db in
                try db.alter(table: "note") { t in
                    t.add(column: "title", .text).notNull().defaults(to: "")
                    t.add(column: "body", .text)
                }
            }
        }
        device.advance(10_000)
        try await device.execute("UPDATE note SET title = 'later' WHERE id = ?", [id])
        try await device.apply(try await device.pull(from: server))
        try await device.sync(with: server)
        #expect(server.rows("note")[id.uuidString.lowercased()]?["title"] == "later")
        #expect(try await device.store.pendingCount() == 0)
    }

    /// The record in a newer app that removed a column.
    private struct TitledNote: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "note"
        static let syncRules = SyncRules(
            counters: Note.syncRules.counters, editWins: Note.syncRules.editWins, removedColumns: ["body"])
        var id = UUID()
        var title = ""
        var likes = 0

        static func migrate(_ migrator: inout DatabaseMigrator) {
            Note.migrate(&migrator)
            migrator.registerMigration("titled") { try $0.execute(sql: "ALTER TABLE note DROP COLUMN body") }
        }
    }

    @Test func `L1 M2 a row is deleted if only the edit of a removed column saved it from deletion`()
        async throws
    {
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET body = 'later'")
        try await other.execute("DELETE FROM note")
        try await other.sync(with: server)
        try await phone.apply(try await phone.pull(from: server))
        #expect(try await phone.rows("note").count == 1, "the edit is later")
        try phone.open([TitledNote.self], migrate: TitledNote.migrate)
        #expect(try await phone.store.pendingCount() == 0)
        for device in [phone, other, phone] { try await device.sync(with: server) }
        #expect(try await phone.rows("note").isEmpty)
        #expect(try await other.rows("note").isEmpty)
    }

    @Test func `L3 a push answered with lifeUnknown is repeated after five seconds`() async throws {
        try await phone.execute("UPDATE note SET title = 'later'")
        let batch = try #require(try await phone.next())
        try await phone.store.apply([.lifeUnknown], of: batch)
        #expect(try await phone.next() == nil)
        phone.advance(5_000)
        #expect(try await phone.next()?.push.rows.map(\.change) == batch.push.rows.map(\.change))
    }

    @Test(arguments: 1...TestForm.of(short: 4, full: 12))
    func `M2 all devices and the server converge in any order of edits and deletes`(seed: UInt64)
        async throws
    {
        var random = SplitMix64(seed: seed)
        let devices = [phone, other, try Device([Note.self], at: 1_790_000_002_000, migrate: Note.migrate)]
        let id = note.id
        for _ in 0..<40 {
            let device = devices[Int.random(in: 0..<3, using: &random)]
            device.advance(Int64.random(in: 0...3_000, using: &random))
            let text = "\(Int.random(in: 0...9, using: &random))"
            switch Int.random(in: 0..<8, using: &random) {
            case 0: try await device.execute("DELETE FROM note")
            case 1: try await device.store.write { try Note(id: id, title: text).insert($0, onConflict: .ignore) }
            case 2, 3: try await device.execute("UPDATE note SET title = ?", [text])
            case 4: try await device.execute("UPDATE note SET body = ?", [text])
            case 5:
                if let batch = try await device.next() {
                    let verdicts = try await server.push(batch.push)
                    if Bool.random(using: &random) { try await device.store.apply(verdicts, of: batch) }
                }
            default: try await device.apply(try await device.pull(from: server))
            }
        }
        for _ in 0..<3 { for device in devices { try await device.sync(with: server) } }
        for device in devices {
            #expect(try await device.rows("note") == server.rows("note"))
            #expect(try await device.store.pendingCount() == 0)
        }
    }

    @Test func `Q4 M2 the receipt of a deleted row with a later edit is settled when the server revives the row`()
        async throws
    {
        let commit = try await phone.store.writeWithReceipt { try $0.execute(sql: "UPDATE note SET title = 'Mine'") }
        let batch = try #require(try await phone.next())
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET body = 'green'")
        try await phone.store.apply([.gone(seq: 9)], of: batch)
        let receipt = commit.receipt
        #expect(try await phone.store.pendingCount() == 1)
        #expect(try await phone.store.unsettled(phone.store.refs(receipt)[...], since: receipt.push).count == 1)
        try await phone.store.apply([.accepted(seq: 10)], of: try #require(try await phone.next()))
        #expect(try await phone.store.rejections(awaiting: receipt).isEmpty)
    }
}
