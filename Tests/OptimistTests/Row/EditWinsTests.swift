// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import TestForm
import Testing

@testable import Optimist

/// A record whose edits win over earlier deletions.
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

/// The record in an older app, which knows nothing but its counter.
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

    private func expectAll(_ values: JSONObject?) async throws {
        for _ in 0..<2 {
            try await phone.sync(with: server)
            try await other.sync(with: server)
        }
        let expected = values.map { [note.id.uuidString.lowercased(): $0] } ?? [:]
        #expect(server.rows("note") == expected)
        for device in [phone, other] {
            #expect(try await device.rows("note") == expected)
            #expect(try await device.store.pendingCount() == 0)
        }
    }

    @Test func `M2 R2 a received delete leaves a row whose edit is later, and the server revives it`() async throws {
        try await other.execute("DELETE FROM note")
        try await other.sync(with: server)
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET title = 'later'")
        try await phone.apply(try await phone.pull(from: server))
        #expect(try await phone.rows("note").count == 1)
        #expect(try await phone.store.pendingCount() == 1)
        #expect(try await phone.store.conflicts().isEmpty)
        try await expectAll(["title": "later", "body": "blue", "likes": 0])
        #expect(try await phone.store.entry(id: note.id)?.generation == 3)
    }

    @Test func `M2 a delete that is later than what brought the row back meanwhile stands`() async throws {
        let third = try Device([Note.self], at: 1_790_000_006_000, migrate: Note.migrate)
        try await third.sync(with: server)
        try await third.execute("DELETE FROM note")
        other.advance(10_000)
        try await other.execute("UPDATE note SET title = 'later'")
        phone.advance(60_000)
        try await phone.execute("DELETE FROM note")
        try await third.sync(with: server)
        try await other.sync(with: server)
        #expect(server.rows("note").count == 1)
        try await phone.apply(try await phone.pull(from: server))
        #expect(try await phone.rows("note").isEmpty)
        try await expectAll(nil)
    }

    @Test(arguments: [false, true])
    func `M2 a delete that was held up is sent, though an earlier one has come meanwhile`(hasReachedServer: Bool)
        async throws
    {
        let third = try Device([Note.self], at: 1_790_000_006_000, migrate: Note.migrate)
        try await third.sync(with: server)
        try await third.execute("DELETE FROM note")
        try await third.sync(with: server)
        other.advance(10_000)
        try await other.execute("UPDATE note SET title = 'later'")
        phone.advance(60_000)
        try await phone.execute("DELETE FROM note")
        try await phone.apply(try await phone.pull(from: server))
        let batch = try #require(try await phone.next())
        if hasReachedServer {
            try await phone.store.apply([.groupFailed(by: [], current: nil)], of: batch)
        } else {
            try await phone.store.recall(batch)
        }
        try await other.sync(with: server)
        #expect(server.rows("note").count == 1)
        try await expectAll(nil)
    }

    @Test func `M2 M3 a count that is later than a delete brings the row back, and the delete is over`() async throws {
        let third = try Device([Note.self], at: 1_790_000_006_000, migrate: Note.migrate)
        try await third.sync(with: server)
        try await third.execute("DELETE FROM note")
        other.advance(10_000)
        try await other.execute("UPDATE note SET likes = likes + 1")
        phone.advance(10_000)
        try await phone.execute("DELETE FROM note")
        try await third.sync(with: server)
        try await other.sync(with: server)
        try await phone.apply(try await phone.pull(from: server))
        #expect(try await phone.store.pendingCount() == 0)
        try await expectAll(["title": "Lake", "body": "blue", "likes": 1])
        #expect(try await phone.store.entry(id: note.id)?.generation == 3)
    }

    @Test func `M2 M3 of what was counted only what is unsent goes on in a row that was made anew`() async throws {
        try await phone.execute("UPDATE note SET likes = likes + 1")
        try await expectAll(["title": "Lake", "body": "blue", "likes": 1])
        let anew = Note(id: note.id, title: "Sea")
        try await other.store.write { db in
            try db.execute(sql: "DELETE FROM note")
            try anew.insert(db)
        }
        try await other.sync(with: server)
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET likes = likes + 3")
        try await phone.apply(try await phone.pull(from: server))
        #expect(try await phone.store.pendingCount() == 1)
        try await expectAll(["title": "Sea", "likes": 3])
    }

    @Test func `M2 R2 a received delete that is later than the edit takes the row, and the journal keeps the edit`()
        async throws
    {
        try await phone.execute("UPDATE note SET title = 'earlier'")
        try await other.execute("DELETE FROM note")
        try await other.sync(with: server)
        try await phone.apply(try await phone.pull(from: server))
        #expect(try await phone.rows("note").isEmpty)
        #expect(try await phone.store.conflicts().first?.mine == ["title": "earlier"])
        try await expectAll(nil)
    }

    @Test func `M2 an edit that reached the server before an earlier delete of this device stands`() async throws {
        try await phone.execute("DELETE FROM note")
        try await other.execute("UPDATE note SET body = 'red'")
        try await other.sync(with: server)
        try await expectAll(["title": "Lake", "body": "red", "likes": 0])
    }

    @Test func `M2 S4 an edit that is made while an earlier one is lost to a delete brings the row back`()
        async throws
    {
        try await phone.execute("UPDATE note SET title = 'earlier'")
        try await other.execute("DELETE FROM note")
        try await other.sync(with: server)
        let next = try await phone.next()
        let batch = try #require(next)
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET title = 'later'")
        try await phone.store.apply(try await server.push(batch.push), of: batch)
        #expect(try await phone.rows("note").count == 1)
        #expect(try await phone.store.conflicts().isEmpty)
        try await expectAll(["title": "later", "body": "blue", "likes": 0])
    }

    @Test func `M2 a row that is deleted while a count brings it back is deleted`() async throws {
        try await other.execute("DELETE FROM note")
        try await other.sync(with: server)
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET likes = likes + 1")
        let batch = try #require(try await phone.next())
        let verdicts = try await server.push(batch.push)
        try await phone.execute("DELETE FROM note")
        try await phone.store.apply(verdicts, of: batch)
        #expect(try await phone.rows("note").isEmpty)
        #expect(try await phone.store.pendingCount() == 1)
        try await expectAll(nil)
    }

    @Test func `M2 an edit that is made while its row is being revived stays`() async throws {
        try await other.execute("DELETE FROM note")
        try await other.sync(with: server)
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET title = 'later', likes = likes + 1")
        try await phone.apply(try await phone.pull(from: server))
        let next = try await phone.next()
        let batch = try #require(next)
        let verdicts = try await server.push(batch.push)
        try await phone.execute("UPDATE note SET title = 'latest', likes = likes + 1")
        try await phone.store.apply(verdicts, of: batch)
        #expect(try await phone.rows("note").values.first?["title"] == "latest")
        try await expectAll(["title": "latest", "body": "blue", "likes": 2])
    }

    @Test func `M2 a row that another device revived takes over what is later here`() async throws {
        let third = try Device([Note.self], at: 1_790_000_020_000, migrate: Note.migrate)
        try await third.sync(with: server)
        try await other.execute("DELETE FROM note")
        try await other.sync(with: server)
        try await third.execute("UPDATE note SET body = 'green'")
        try await third.sync(with: server)
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET title = 'mine'")
        try await phone.apply(try await phone.pull(from: server))
        #expect(try await phone.rows("note").values.first == ["title": "mine", "body": "green", "likes": 0])
        try await expectAll(["title": "mine", "body": "green", "likes": 0])
    }

    @Test func `M2 V2 a refused edit of a row that is deleted goes with it, into the rejections`() async throws {
        try await other.execute("DELETE FROM note")
        try await other.sync(with: server)
        phone.advance(10_000)
        try await phone.execute("UPDATE note SET title = 'later'")
        try await phone.apply(try await phone.pull(from: server))
        try await phone.sync(with: server) { _ in RemotePush.Refusal(code: "forbidden", message: "no") }
        #expect(try await phone.rows("note").isEmpty)
        #expect(try await phone.store.rejections().first?.mine == ["title": "later"])
        try await expectAll(nil)
    }

    /// The other device's row never came to the server, its deletion did.
    @Test func `M2 a new row goes whole to a server that knows only that it was deleted`() async throws {
        let mine = Note(id: UUID(), title: "Sea", body: "green")
        try await other.store.write { try Note(id: mine.id, title: "Lost").insert($0) }
        _ = try await other.next()
        try await other.execute("DELETE FROM note WHERE title = 'Lost'")
        try await other.sync(with: server)
        phone.advance(60_000)
        try await phone.store.write { try mine.insert($0) }
        try await phone.apply(try await phone.pull(from: server))
        for device in [phone, other] { try await device.sync(with: server) }
        let rows = server.rows("note")
        #expect(rows[mine.id.uuidString.lowercased()]?["body"] == "green")
        for device in [phone, other] {
            #expect(try await device.rows("note") == rows)
            #expect(try await device.store.pendingCount() == 0)
        }
    }

    /// An app that knows counters only creates it: the row has no value on the server.
    @Test func `M2 L1 an edit brings back a row that an older app has created with nothing in it`() async throws {
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

    @Test(arguments: 1...TestForm.of(short: 4, full: 12))
    func `M2 whatever order edits and deletes arrive in, all devices and the server end equal`(seed: UInt64)
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

    @Test func `Q4 M2 an edit answered as gone that goes on with a later one is settled by the server's revival`()
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
