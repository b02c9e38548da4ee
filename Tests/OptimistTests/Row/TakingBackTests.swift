// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

/// Refusals that leave the device without the server's values, or with rows that obstruct each other.
@Suite(.timeLimit(.minutes(20)))
struct TakingBackTests {
    let tooLarge = RemotePush.Refusal(code: "tooLarge", message: "What was written together is too large.")

    // MARK: - Deletions

    @Test func `V5 deletions of a group refused as too large are undone with the next pages`() async throws {
        let desk = try Desk()
        let (trip, step) = (Project(title: "Trip"), Step(text: "Tickets"))
        let rows: [RemotePage.Row] = [.project(trip), .step(step, in: trip)]
        try await desk.store.take(rows)
        try await desk.store.write { try $0.execute(sql: "DELETE FROM project") }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        #expect(batch.unitCount == 1)
        #expect(try await desk.store.refuse(tooLarge, batch), "pages are needed")
        #expect(try await desk.store.counts().pending == 0)
        #expect(try await desk.store.tableProgress().map(\.awaitsSnapshot) == [true, true])
        try await desk.store.take(rows)
        #expect(try await desk.store.projects() == ["Trip"])
        #expect(try await desk.store.steps() == ["Tickets"])
        let rejection = try #require(try await desk.store.rejections().first)
        #expect([rejection.kind] + rejection.dependents.map(\.kind) == [.delete, .delete])
        try await desk.store.retry(rejection)
        #expect(try await desk.store.projects().isEmpty)
        #expect(try await desk.store.steps().isEmpty)
        #expect(try await desk.store.counts().pending == 2)
    }

    @Test func `V1 a deletion refused without the server's row is undone with the next pages`() async throws {
        let (server, phone) = (AppServer(), try Device([Photo.self], migrate: Photo.migrate))
        try await phone.execute("INSERT INTO photo(id, title, likes) VALUES (?, 'Lake', 3)", [UUID()])
        try await phone.sync(with: server)
        try await phone.execute("DELETE FROM photo")
        try await phone.store.apply([.rejected(tooLarge)], of: try #require(try await phone.next()))
        try await phone.sync(with: server)
        #expect(try await phone.rows("photo").values.map { [$0["title"], $0["likes"]] } == [["Lake", 3]])
        #expect(try await phone.store.rejections().map(\.kind) == [.delete])
    }

    @Test func `S9 V5 a deletion of more rows than the server accepts together is undone`() async throws {
        let backend = FakeBackend()
        let reader = try Reader(backend)
        backend.write("shelf", (1...3).map(id), ["name": "Travel"])
        try await reader.sync()
        backend.settings.withLock { $0.maxRows = 2 }
        try await reader.write("DELETE FROM shelf")
        try await reader.sync()
        #expect(backend.rows("shelf").count == 3)
        #expect(try await reader.isEqualToBackend())
        #expect(try await reader.store.rejections().map(\.dependents.count) == [2])
    }

    @Test func `V1 a refused deletion of a row that the server has deleted requests no pages`() async throws {
        let desk = try Desk()
        let trip = Project(title: "Trip")
        try await desk.store.take([.project(trip)], to: 1)
        try await desk.store.write { try $0.execute(sql: "DELETE FROM project") }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        try await desk.store.take([.gone("project", trip.id)], from: 1, to: 2)
        #expect(try await !desk.store.apply([.rejected(tooLarge)], of: batch))
        #expect(try await desk.store.counts().pending == 0)
        #expect(try await desk.store.tableProgress().map(\.awaitsSnapshot) == [false, false])
    }

    @Test(arguments: [MassRemoval.Decision.remove, .keep])
    func `L4 a refused deletion leaves no trace if the pages do not contain the row`(
        answer: MassRemoval.Decision
    ) async throws {
        let (store, trip) = (try Desk().store, Project(title: "Trip"))
        try await store.take([.project(trip)])
        try await store.write { try $0.execute(sql: "DELETE FROM project") }
        try await store.apply([.rejected(tooLarge)], of: try #require(try await store.nextPush(PushLimit())))
        try await store.take([], to: 12, of: ["project"])
        try await store.settleUnseen(answer)
        #expect(try await store.nextPush(PushLimit()) == nil)
        #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_state") } == 0)
        #expect(try await store.tableProgress().map(\.at) == [nil, nil])
    }

    /// The snapshot does not contain a photo whose counter the user has changed.
    @Test(arguments: [false, true])
    func `M2 R2 receiving a table again after a refusal revives no row that another device deleted`(
        hadResync: Bool
    ) async throws {
        let phone = try Device([Photo.self], migrate: Photo.migrate)
        let (lake, pond) = (UUID(), UUID())
        try await phone.execute("INSERT INTO photo(id, title) VALUES (?, 'Lake'), (?, 'Pond')", [lake, pond])
        let created = try #require(try await phone.next())
        try await phone.store.apply(created.sent.map { _ in .accepted(seq: 3) }, of: created)
        if hadResync { try await phone.store.startResync(of: ["photo"]) }
        let rows = created.push.rows.map { row in
            RemotePage.Row(table: "photo", id: row.id, content: .row(RowPatch(generation: 1, seq: 3, values: [:])))
        }
        try await phone.apply(RemotePage(from: "m.0", cursor: "m.4", hasMore: false, rows: rows))
        try await phone.store.write(allOrNothing: true) { db in
            try db.execute(sql: "DELETE FROM photo WHERE id = ?", arguments: [lake])
            try db.execute(sql: "INSERT INTO photo(id, title) VALUES (?, 'Sea')", arguments: [UUID()])
        }
        let batch = try #require(try await phone.next())
        try await phone.execute("UPDATE photo SET likes = likes + 1 WHERE id = ?", [pond])
        try await phone.store.apply(
            batch.sent.map { $0.kind == .create ? .rejected(tooLarge) : .groupFailed(by: [], current: nil) }, of: batch)
        try await phone.apply(RemotePage(from: "m.0", cursor: "m.12", hasMore: false, rows: []))
        let push = try #require(try await phone.next())
        #expect(push.sent.map(\.generation) == [1])
        try await phone.store.apply([.gone(seq: 12)], of: push)
        #expect(try await phone.rows("photo").isEmpty)
    }

    @Test func `V2 a refused deletion that is retried before the pages arrive is sent again`() async throws {
        let (store, trip) = (try Desk().store, Project(title: "Trip"))
        try await store.take([.project(trip)])
        try await store.write { try $0.execute(sql: "DELETE FROM project") }
        try await store.apply([.rejected(tooLarge)], of: try #require(try await store.nextPush(PushLimit())))
        try await store.retry(try #require(try await store.rejections().first))
        #expect(try await store.rejections().isEmpty)
        try await store.take([.project(trip)], to: 12, of: ["project"])
        #expect(try await store.projects().isEmpty)
        let batch = try #require(try await store.nextPush(PushLimit()))
        #expect(batch.sent.map(\.kind) == [.delete])
        #expect(batch.sent.map(\.generation) == [2])
        try await store.apply([.accepted(seq: 13)], of: batch)
        #expect(try await store.counts().pending == 0)
    }

    /// The snapshot has passed row 1, but not row 2.
    /// - Parameter isThere: Whether the server has the row.
    @Test(arguments: [1, 2], [false, true])
    func `V1 R6 a refusal restarts a snapshot only if the snapshot has passed the row`(number: Int, isThere: Bool)
        async throws
    {
        let store = try Desk().store
        let projects = (1...3).map { Project(id: id($0), title: "Project \($0)") }
        let rows = projects.map { RemotePage.Row.project($0) }
        try await store.take(rows)
        try await store.write { try $0.execute(sql: "DELETE FROM project WHERE id = ?", arguments: [id(number)]) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.startResync(of: ["project"])
        var asked = RemoteSnapshot.Request(table: "project", at: nil, after: nil, limit: 1)
        #expect(try await store.apply(RemoteSnapshot(at: "e1.9", rows: [rows[0]], next: projects[0].wireID), of: asked))
        try await store.apply([.rejected(tooLarge)], of: batch)
        let place = try await store.tableProgress().first { $0.table == "project" }?.place
        #expect(place == (number == 1 ? nil : projects[0].wireID))
        if number == 1 { return }
        (asked.at, asked.after) = ("e1.9", place)
        #expect(
            try await store.apply(
                RemoteSnapshot(at: "e1.9", rows: Array(rows[(isThere ? 1 : 2)...]), next: nil), of: asked))
        try await store.take([], from: 9, of: ["project"])
        try await store.settleUnseen(.remove)
        #expect(try await store.projects() == projects.filter { isThere || $0.id != id(2) }.map(\.title))
        #expect(
            try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_state") }
                == (isThere ? 3 : 2))
    }

    // MARK: - New lives

    @Test func `V2 R1 a missing row is fetched again when its pending edit is refused`()
        async throws
    {
        let desk = try Desk()
        let trip = Project(title: "Trip")
        let bare = RemotePage.Row(
            table: "project", id: trip.wireID, content: .row(RowPatch(generation: 1, seq: 1, values: [:])))
        try await desk.store.take([bare])
        try await desk.store.write { try $0.execute(sql: "DELETE FROM project") }
        try await desk.store.write { try trip.insert($0) }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        #expect(try await desk.store.refuse(tooLarge, batch), "pages are needed")
        #expect(try await desk.store.counts().pending == 0)
        try await desk.store.take([bare], of: ["project"])
        #expect(try await desk.store.projects() == [nil])
    }

    // MARK: - Rows that obstruct each other

    @Test(arguments: ["CASCADE", "RESTRICT", "SET NULL"])
    func `V5 a row returns with its unique value and its children when the row that took them is refused`(
        onDelete: String
    ) async throws {
        let desk = try Desk(onDelete: onDelete)
        let (trip, tour) = (Project(title: "Trip"), Project(title: nil))
        let step = Step(text: "Tickets")
        try await desk.store.take([.project(trip), .step(step, in: trip)])
        try await desk.store.write(allOrNothing: true) { db in
            try tour.insert(db)
            try db.execute(sql: "UPDATE step SET project = ?", arguments: [tour.id])
            try db.execute(sql: "DELETE FROM project WHERE title = 'Trip'")
            try db.execute(sql: "UPDATE project SET title = 'Trip'")
        }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        let current = RowPatch(generation: 1, seq: 1, values: ["title": "Trip", "part": .null])
        try await desk.store.apply(
            batch.push.rows.map { row in
                row.id == tour.wireID
                    ? .rejected(RemotePush.Refusal(code: "uniqueViolation", message: "There is one."))
                    : .groupFailed(by: ["project:\(tour.wireID)"], current: row.id == trip.wireID ? current : nil)
            }, of: batch)
        let counts = try await desk.store.counts()
        #expect((counts.pending, counts.parked) == (0, 0))
        #expect(try await desk.store.read { try Project.fetchAll($0).map(\.id) } == [trip.id])
        #expect(try await desk.store.read { try Step.fetchAll($0).map(\.project) } == [trip.id])
    }

    /// Two stalls that exchanged their places are refused together. A place's temporary value is not JSON.
    @Test(arguments: Stall.readings)
    func `S8 V3 V4 a refusal is stored although the app's table rejects temporary unique values`(
        reading: String
    ) async throws {
        let device = try Device([Stall.self]) { Stall.migrate(&$0, reading) }
        let (cheese, fruit) = (Stall(place: #"{"row":1}"#), Stall(place: #"{"row":2}"#))
        try await device.apply(
            RemotePage(from: "m.0", cursor: "m.1", hasMore: false, rows: [cheese.row(seq: 1), fruit.row(seq: 1)]))
        try await device.store.write(allOrNothing: true) { db in
            for stall in [Stall(id: cheese.id), Stall(id: fruit.id, place: cheese.place)] { try stall.update(db) }
            try Stall(id: cheese.id, place: fruit.place).update(db)
        }
        let batch = try #require(try await device.next())
        try await device.store.apply(
            [.rejected(tooLarge), .groupFailed(by: ["stall:\(cheese.wireID)"], current: nil)], of: batch)
        #expect(try await device.store.counts().pending == 0)
        #expect(try await device.store.rejections().map(\.dependents.count) == [1])
    }

    @Test(arguments: Stall.readings)
    func `R4 S8 a page is applied although the app's table rejects temporary unique values`(reading: String)
        async throws
    {
        let device = try Device([Stall.self]) { Stall.migrate(&$0, reading) }
        let (cheese, fruit) = (Stall(place: #"{"row":1}"#), Stall(place: #"{"row":2}"#))
        try await device.apply(
            RemotePage(from: "m.0", cursor: "m.1", hasMore: false, rows: [cheese.row(seq: 1), fruit.row(seq: 1)]))
        let exchanged = [Stall(id: cheese.id, place: fruit.place), Stall(id: fruit.id, place: cheese.place)]
        let bread = Stall(place: #"{"row":3}"#)
        try await device.apply(
            RemotePage(from: "m.1", cursor: "m.2", hasMore: false, rows: (exchanged + [bread]).map { $0.row(seq: 2) }))
        #expect(try await device.rows("stall").count == 3)
        #expect(try await device.store.counts().parked == 2)
    }
}

/// A record with a unique value that the app reads as JSON.
private struct Stall: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "stall"
    var id = UUID()
    var place: String?

    var wireID: String { id.uuidString.lowercased() }

    func row(seq: Int64) -> RemotePage.Row {
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + seq), device: "OtherPhone")
        return RemotePage.Row(
            table: "stall", id: wireID,
            content: .row(
                RowPatch(
                    generation: 1, clocks: ColumnClocks(common: clock), seq: seq,
                    values: ["place": place.map(JSON.string) ?? .null])))
    }

    static let readings = ["an index", "a generated column", "a trigger"]

    static func migrate(_ migrator: inout DatabaseMigrator, _ reading: String) {
        migrator.registerMigration("stall") { db in
            let generated = ", line INTEGER GENERATED ALWAYS AS (json_extract(place, '$.row')) STORED"
            try db.execute(
                sql: """
                    CREATE TABLE stall(id BLOB PRIMARY KEY NOT NULL, place TEXT UNIQUE\
                    \(reading == "a generated column" ? generated : ""))
                    """)
            switch reading {
            case "an index": try db.execute(sql: "CREATE INDEX line ON stall(json_extract(place, '$.row'))")
            case "a trigger":
                try db.execute(
                    sql: """
                        CREATE TRIGGER app AFTER UPDATE ON stall
                        BEGIN SELECT json_extract(NEW.place, '$.row'); END
                        """)
            default: break
            }
        }
    }
}
