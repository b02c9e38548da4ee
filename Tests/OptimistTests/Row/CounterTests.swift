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

    /// Pushes, and never hears of it.
    private func loseAnswer() async throws {
        let batch = try await phone.next()
        _ = try await server.push(try #require(batch).push)
    }

    /// A row that the server has, with as many likes.
    func confirmed(likes: Int = 0) async throws {
        var photo = photo
        photo.likes = likes
        let row = photo
        try await phone.store.write { try row.insert($0) }
        try await phone.sync(with: server)
    }

    @Test func `M3 three devices that add one, add one and subtract one offline end at plus one`() async throws {
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

    @Test func `M3 what is sent is the running total with its clock, however it was written`() async throws {
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

    @Test func `M3 a row is created with its start value, and null counts as nothing`() async throws {
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

    @Test func `M3 a new life starts at no totals`() async throws {
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

    @Test func `M3 a deleted row keeps no totals, and neither does one whose key changes`() async throws {
        try await confirmed(likes: 4)
        try await phone.execute("UPDATE photo SET id = ?", [UUID()])
        #expect(try await phone.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_counter") } == 1)
        try await phone.execute("DELETE FROM photo")
        #expect(try await phone.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_counter") } == 0)
    }

    @Test func `S3 M3 a lost answer never counts twice`() async throws {
        try await confirmed()
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        try await loseAnswer()
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        try await loseAnswer()
        try await phone.sync(with: server)
        #expect(server.sums("photo", "likes").values.first == 2)
        #expect(try await likes() == 2)
        #expect(try await phone.store.pendingCount() == 0)
    }

    @Test func `R5 M3 between the verdict and the echo the column shows the device's own count, in any order`()
        async throws
    {
        try await confirmed()
        let other = try another()
        try await other.sync(with: server)
        try await other.execute("UPDATE photo SET likes = likes + 10")
        try await other.sync(with: server)

        try await phone.execute("UPDATE photo SET likes = likes + 1")
        let older = try await phone.pull(from: server)
        let next = try await phone.next()
        let batch = try #require(next)
        let verdicts = try await server.push(batch.push)
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        #expect(try await likes() == 2)
        try await phone.store.apply(verdicts, of: batch)
        #expect(try await likes() == 2)
        try await phone.apply(older)
        #expect(try await likes() == 12, "ten of the other's, and both of mine")
        try await phone.apply(try await phone.pull(from: server))
        #expect(try await likes() == 12)
        try await phone.sync(with: server)
        #expect(try await likes() == 12)
        #expect(server.sums("photo", "likes").values.first == 12)
    }

    @Test func `V2 M3 a refused count goes back, and can be made again`() async throws {
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

    @Test func `V3 M3 what was counted while a refused count was in flight stays`() async throws {
        try await confirmed(likes: 5)
        try await phone.execute("UPDATE photo SET likes = likes + 2, title = 'far too long'")
        let next = try await phone.next()
        let batch = try #require(next)
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        try await phone.store.apply(
            [.rejected(RemotePush.Refusal(code: "invalidProperties", message: "too long"))], of: batch)
        #expect(try await likes() == 6)
        #expect(try await phone.store.rejections().first?.mine["likes"] == ["@add": 2])
        try await phone.sync(with: server)
        #expect(server.sums("photo", "likes").values.first == 6)
    }

    @Test func `V2 M3 a refused create is kept with what it counted`() async throws {
        let photo = Photo(likes: 3)
        try await phone.store.write { try photo.insert($0) }
        try await phone.sync(with: server) { _ in RemotePush.Refusal(code: "forbidden", message: "no") }
        #expect(try await likes() == nil)
        let first = try await phone.store.rejections().first
        let rejection = try #require(first)
        #expect(rejection.mine["likes"] == ["@add": 3])
        try await phone.store.retry(rejection)
        #expect(try await likes() == 3)
    }

    @Test func `L3 M3 a total stays under the id that it was written with`() async throws {
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

    @Test func `L3 M3 a database that went back learns what it had counted since`() async throws {
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

    /// A server that has deleted the row says so when it is asked. In a resync it may have forgotten that (L4).
    @Test(arguments: [false, true])
    func `M2 M3 a count of a row that a snapshot does not bring ends with the row, unless that is forgotten`(
        isResync: Bool
    ) async throws {
        let row = photo
        try await phone.store.write { try row.insert($0) }
        let created = try #require(try await phone.next())
        try await phone.store.apply([.accepted(seq: 3)], of: created)
        if isResync { try await phone.store.startResync(of: ["photo"]) }
        try await phone.execute("UPDATE photo SET likes = likes + 3")
        #expect(
            try await phone.store.apply(
                RemoteSnapshot(at: "e.5", rows: [], next: nil),
                of: RemoteSnapshot.Request(table: "photo", limit: 100, origins: phone.store.origins())))
        #expect(
            try await phone.store.apply(
                RemotePage(from: "e.5", cursor: "e.5", hasMore: false, rows: []), to: ["photo"], initialCursor: ""))
        try await phone.store.settleUnseen(.remove)
        let batch = try #require(try await phone.next())
        let sent = try patch(batch)
        #expect(sent.generation == (isResync ? 3 : 1))
        #expect(sent.values["title"] == "Lake")
        #expect(CounterPatch(json: try #require(sent.values["likes"])) == .totals([.init(3)]))
        if isResync { return }
        try await phone.store.apply([.gone(seq: 6)], of: batch)
        #expect(try await likes() == nil)
    }

    @Test func `M3 a row of which nothing is known shows the sum, and not what its table had before`() throws {
        let layout = try #require(phone.store.layouts.first)
        let edit = LocalEdit(
            group: Stamp(rawValue: 1), stamp: Stamp(rawValue: 1), dirty: layout[column: "likes"]?.mask ?? 0)
        var entry = RowEntry(
            ref: RowRef(table: 1, id: photo.id.databaseValue), generation: 1,
            remote: RemoteRow(generation: 1, presence: .absent), local: edit)
        let patch = RowPatch(generation: 1, clocks: ColumnClocks(), seq: 5, values: ["likes": 8])
        let reception = entry.receive(patch, device: "Phone", in: layout)
        #expect(reception.kept == 0)
        #expect(reception.change == .put(["likes": 8, "views": 0]))
    }

    @Test func `W3 M3 a count that is taken back before it was sent is not sent`() async throws {
        try await confirmed(likes: 5)
        try await phone.execute("UPDATE photo SET likes = likes + 1")
        try await phone.execute("UPDATE photo SET likes = likes - 1")
        #expect(try await phone.store.pendingCount() == 0)
    }

    /// A photo of an app in which nothing counts yet.
    private struct PlainPhoto: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "photo"
        var id = UUID()
        var title = ""
        var likes = 0
        var views: Int?
    }

    @Test func `M3 L1 what is unsent of a column that becomes a counter counts from what the server holds`()
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
            case .create(let patch), .update(let patch): patch.values["likes"]
            case .delete: nil
            }
        }
        #expect(likes == [["@total": 2], ["@total": 3]])
        try device.open([Photo.self], migrate: Photo.migrate)
        #expect(try await device.next()?.sent.map(\.values) == batch.sent.map(\.values), "once")
    }

    @Test func `M3 a counter needs a column of whole numbers that is not unique`() throws {
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

    @Test func `M3 an exported schema calls a counter a counter`() async throws {
        let schema = try Schema(exporting: phone.file, id: "gallery")
        #expect(schema.types["photo"]?.columns["likes"]?.type == .counter)
        #expect(schema.types["photo"]?.columns["title"]?.type == .string)
    }
}
