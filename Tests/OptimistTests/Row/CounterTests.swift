// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import Optimist
import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct CounterTests {
    let server = AppServer()
    let phone: Device
    let photo = Photo(title: "Lake")

    init() throws { phone = try Device([Photo.self], migrate: Photo.migrate) }

    private func another() throws -> Device { try Device([Photo.self], migrate: Photo.migrate) }

    func likes(_ device: Device? = nil) async throws -> Int? {
        try await (device ?? phone).store.read { try Int.fetchOne($0, sql: "SELECT likes FROM photo") }
    }

    func patch(_ batch: PushBatch?) throws -> RowPatch {
        let change = batch?.push.rows.first?.change
        return try #require(change?.created ?? change?.updated)
    }

    private func loseAnswer() async throws {
        let batch = try await phone.next()
        _ = try await server.push(try #require(batch).push)
    }

    func confirmed(likes: Int = 0) async throws {
        var photo = photo
        photo.likes = likes
        let row = photo
        try await phone.store.write { try row.insert($0) }
        try await phone.sync(with: server)
    }

    @Test func `M3 three devices that count plus one, plus one and minus one offline end at plus one`() async throws {
        try await confirmed()
        let devices = [phone, try another(), try another()]
        for device in devices { try await device.sync(with: server) }
        try await devices[0].execute("UPDATE photo SET likes = likes + 1")
        try await devices[1].execute("UPDATE photo SET likes = likes + 1")
        try await devices[2].execute("UPDATE photo SET likes = likes - 1")
        for _ in 0..<2 { for device in devices { try await device.sync(with: server) } }
        for device in devices { #expect(try await likes(device) == 1) }
        #expect(server.sums("photo", "likes").values.first == 1)
    }

    @Test func `M3 a counter is sent as a running total with its clock, however SQL changed it`() async throws {
        try await confirmed()
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        try await phone.execute("UPDATE photo SET likes = 7")
        try await phone.store.write { db in
            var photo = try #require(try Photo.fetchOne(db))
            photo.likes -= 2
            try photo.upsert(db)
        }
        let patch = try patch(try await phone.next())
        #expect(patch.values == ["likes": ["@total": 5]])
        let device = try await phone.store.read { try DeviceIdentity.current(in: $0) }
        #expect(patch.clocks?["likes"]?.device == device)
    }

    @Test func `M3 a created row sends its initial total, and null counts as zero`() async throws {
        let photo = Photo(likes: 3)
        try await phone.store.write { try photo.insert($0) }
        #expect(try patch(try await phone.next()).values == ["title": "", "likes": ["@total": 3]])
        try await phone.execute("UPDATE photo SET views = coalesce(views, 0) + 2, likes = likes - 3")
        #expect(
            try patch(try await phone.next()).values
                == ["title": "", "likes": ["@total": 0], "views": ["@total": 2]])
        try await phone.execute("UPDATE photo SET views = NULL")
        #expect(try patch(try await phone.next()).values["views"] == ["@total": 0])
    }

    @Test func `M3 a new life starts without totals`() async throws {
        try await confirmed(likes: 4)
        let photo = photo
        try await phone.store.write {
            try Photo(id: photo.id, title: "Again", likes: 1).insert($0, onConflict: .replace)
        }
        let batch = try await phone.next()
        #expect(try patch(batch).generation == 3)
        #expect(try patch(batch).values["likes"] == ["@total": 1])
        try await phone.sync(with: server)
        #expect(server.sums("photo", "likes").values.first == 1)
        #expect(try await likes() == 1)
    }

    @Test func `M3 a deletion or a key change removes the old row's totals`() async throws {
        try await confirmed(likes: 4)
        try await phone.execute("UPDATE photo SET id = ?", [UUID()])
        #expect(try await phone.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_counter") } == 1)
        try await phone.execute("DELETE FROM photo")
        #expect(try await phone.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_counter") } == 0)
    }

    @Test func `V2 M3 a refused count is undone and can be retried`() async throws {
        try await confirmed(likes: 5)
        try await phone.execute("UPDATE photo SET likes = likes + 2, title = 'far too long'")
        let refusal = RemotePush.Refusal(code: "invalidProperties", column: "title", message: "too long")
        try await phone.sync(with: server) { _ in refusal }
        #expect(try await likes() == 5)
        #expect(try await phone.store.pendingCount() == 0)
        let first = try await phone.store.rejections().first
        let rejection = try #require(first)
        #expect(rejection.mine == ["title": "far too long", "likes": ["@add": 2]])
        try await phone.store.retry(rejection, with: ["title": "Sea"])
        #expect(try await likes() == 7)
        try await phone.sync(with: server)
        #expect(server.sums("photo", "likes").values.first == 7)
    }

    @Test func `L3 M3 a total stays under the device id it was written with`() async throws {
        try await confirmed()
        try await phone.execute("UPDATE photo SET likes = likes + 3")
        try await loseAnswer()
        let first = try await phone.store.read { try DeviceIdentity.current(in: $0) }
        try await phone.store.renewDeviceID()
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        let sent = try #require(try patch(try await phone.next()).values["likes"])
        guard case .totals(let totals) = CounterPatch(json: sent) else {
            Issue.record("no totals")
            return
        }
        #expect(totals.count == 2)
        #expect(totals.first { $0.origin == first }?.total == 3)
        try await phone.sync(with: server)
        #expect(server.sums("photo", "likes").values.first == 4)
        #expect(try await likes() == 4)
    }

    @Test func `L3 M3 a restored database receives the counts it had made since the backup`() async throws {
        try await confirmed()
        try await phone.execute("UPDATE photo SET likes = likes + 3")
        try await phone.sync(with: server)
        let backup = phone.folder.appending(path: "backup.sqlite")
        try phone.store.pool.backup(to: DatabaseQueue(path: backup.path))
        try await phone.execute("UPDATE photo SET likes = likes + 2")
        try await phone.sync(with: server)

        let restored = try another()
        try DatabaseQueue(path: backup.path).backup(to: restored.store.pool)
        try restored.open([Photo.self], migrate: Photo.migrate)
        try await restored.store.renewDeviceID()
        try await restored.execute("UPDATE photo SET likes = likes + 1")
        try await restored.sync(with: server)
        try await restored.sync(with: server)
        #expect(server.sums("photo", "likes").values.first == 6)
        #expect(try await likes(restored) == 6)
    }

    @Test(arguments: [false, true])
    func `L3 M3 a page requested before the device took a new id is not applied`(isSnapshot: Bool)
        async throws
    {
        try await confirmed(likes: 5)
        let store = phone.store
        let asked = try await store.origins()
        try await store.renewDeviceID()
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        let batch = try #require(try await phone.next())
        // The server made the page after it took the push: the sum includes the count under the new id, but the page
        // does not say so.
        let patch = RowPatch(
            generation: 1, clocks: ColumnClocks(common: WriteClock(stamp: Stamp(rawValue: 1), device: asked[0])),
            seq: 9,
            values: ["likes": 6], mine: ["likes": [asked[0]: 5]])
        let row = RemotePage.Row(table: "photo", id: photo.id.uuidString.lowercased(), content: .row(patch))
        try await store.apply([.accepted(seq: 9)], of: batch)
        let cursor = try #require(try await store.tableProgress().first?.cursor)
        func take(_ origins: [String]) async throws -> Bool {
            if isSnapshot {
                return try await store.apply(
                    RemoteSnapshot(at: "m.9", rows: [row], next: nil),
                    of: RemoteSnapshot.Request(table: "photo", limit: 100, origins: origins))
            }
            return try await store.apply(
                RemotePage(from: cursor, cursor: "m.9", hasMore: false, rows: [row]), to: ["photo"],
                initialCursor: cursor,
                origins: origins)
        }
        if isSnapshot { try await store.startResync(of: ["photo"]) }
        #expect(try await !take(asked))
        #expect(try await likes() == 6)
        #expect(try await take(store.origins()))
    }

    @Test func `W3 M3 a count undone before it is sent is never sent`() async throws {
        try await confirmed(likes: 5)
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        try await phone.execute("UPDATE photo SET likes = likes - 1")
        #expect(try await phone.store.pendingCount() == 0)
    }

    /// A photo in an app version without counters.
    private struct PlainPhoto: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "photo"
        var id = UUID()
        var title = ""
        var likes = 0
        var views: Int?
    }

    @Test func `M3 L1 unsent edits of a column that becomes a counter count from the server's value`()
        async throws
    {
        let device = try Device([PlainPhoto.self], migrate: Photo.migrate)
        let (old, clean, new) = (
            PlainPhoto(title: "old"), PlainPhoto(title: "clean"), PlainPhoto(title: "new", likes: 3)
        )
        try await device.store.write { db in for photo in [old, clean] { try photo.insert(db) } }
        try await device.execute("UPDATE photo SET likes = 5")
        try await device.store.pushAccepted(seq: 1)
        try await device.execute("UPDATE photo SET likes = 7 WHERE title = 'old'")
        try await device.store.write { try new.insert($0) }
        try device.open([Photo.self], migrate: Photo.migrate)
        let batch = try #require(try await device.next())
        let likes = batch.push.rows.map { row -> JSON? in
            switch row.change {
            case .create(let patch), .update(let patch), .move(_, let patch, _): patch.values["likes"]
            case .delete: nil
            }
        }
        #expect(likes == [["@total": 2], ["@total": 3]])
        try device.open([Photo.self], migrate: Photo.migrate)
        #expect(try await device.next()?.sent.map(\.values) == batch.sent.map(\.values), "once")
    }

    @Test func `M3 a counter needs an integer column that is not unique and allows null or has a default`() throws {
        struct Bad: Codable, Identifiable, SyncedRecord {
            static let databaseTableName = "bad"
            static let syncRules = SyncRules(counters: ["name", "rank", "must", "start", "absent"])
            var id: UUID
        }
        let queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE bad(id BLOB PRIMARY KEY NOT NULL, name TEXT, rank INTEGER UNIQUE,
                    must INTEGER NOT NULL, start INTEGER NOT NULL DEFAULT 5)
                    """)
        }
        let problems = try Store.validate([Bad.self], in: queue)
        let fatal = Set(problems.filter(\.isFatal).compactMap(\.column))
        #expect(fatal == ["name", "rank", "must", "absent"])
        #expect(problems.contains { $0.column == "start" && !$0.isFatal })
    }

    @Test func `M3 an exported schema declares counters as counters`() async throws {
        let schema = try Schema(exporting: phone.file, id: "gallery")
        #expect(schema.types["photo"]?.columns["likes"]?.type == .counter)
        #expect(schema.types["photo"]?.columns["title"]?.type == .string)
    }
}
