// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

/// Devices that were away longer than the server remembers deletions.
@Suite(.timeLimit(.minutes(20)))
struct ResyncTests {
    let backend = FakeBackend()
    let reader: Reader

    init() async throws {
        backend.write("shelf", (1...3).map(id), ["name": "Shelf"])
        backend.write(
            "book", (11...20).map(id), ["title": "A book", "shelfID": .string(id(1).uuidString.lowercased())])
        reader = try Reader(backend)
        try await reader.sync()
    }

    /// Changes rows on the server, which then forgets its deletions.
    private func goOn() {
        backend.write("book", (11...13).map(id), nil)
        backend.write("shelf", [id(2)], nil)
        backend.write("book", (14...15).map(id), ["title": "Changed"], at: 1_790_000_060_000)
        backend.write("book", (21...22).map(id), ["title": "New"])
        backend.purge()
        backend.write("book", [id(16)], nil)
    }

    @Test func `L4 rows that are missing from a resync are removed, and not sent`() async throws {
        goOn()
        try await reader.sync()
        #expect(try await reader.isEqualToBackend())
        #expect(backend.requests.contains("snapshot book begin"))
        #expect(backend.pushes.isEmpty)
        #expect(try await reader.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_unseen") } == 0)
    }

    @Test(arguments: [true, false])
    func `L4 an edited row missing from a resync is sent in full, and kept unless the server remembers its deletion`(
        hasSnapshots: Bool
    ) async throws {
        goOn()
        backend.settings.withLock { settings in
            settings.hasSnapshots = hasSnapshots
            settings.pageRows = 100
        }
        try await reader.write("UPDATE book SET pages = 7 WHERE id IN (?, ?)", [id(11), id(14)])
        try await reader.write("UPDATE book SET title = 'Gone' WHERE id = ?", [id(16)])
        try await reader.write("INSERT INTO book VALUES (?, 'Mine', 1, NULL)", [id(30)])
        try await reader.syncPullingFirst()
        #expect(try await reader.isEqualToBackend())
        let kept = try #require(backend.row("book", id(11)))
        #expect(kept.generation == 1)
        #expect(kept.cells["pages"]?.value == 7)
        #expect(kept.cells["title"]?.value == "A book")
        #expect(backend.row("book", id(14))?.cells["title"]?.value == "Changed")
        #expect(backend.rows("book")[id(30).uuidString.lowercased()]?["title"] == "Mine")
        #expect(backend.row("book", id(16))?.generation == 2, "the server remembers this book's deletion")
        #expect(try await reader.store.conflicts().map(\.rowID) == [id(16).uuidString.lowercased()])
    }

    @Test func `L4 another device's new life of a row appears when this device's new life is refused`() async throws {
        let (store, trip) = (try Desk().store, Project(title: "Trip"))
        try await store.take([.project(trip)], to: 1)
        try await store.take([.gone("project", trip.id, seq: 2)], from: 1, to: 2)
        try await store.write { try Project(id: trip.id, title: "Mine").insert($0) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.take([.project(trip, seq: 3, title: "Theirs")], from: 2, to: 3)
        #expect(try await store.projects() == ["Mine"])
        try await store.apply([.rejected(RemotePush.Refusal(code: "forbidden", message: "No."))], of: batch)
        #expect(try await store.projects() == ["Theirs"])
        #expect(try await store.counts().parked == 0)
    }

    @Test func `L4 an edited row that was deleted in an earlier life is sent in full`() async throws {
        let (store, trip) = (try Desk().store, Project(title: "Trip"))
        try await store.take([.project(trip, generation: 3)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine'") }
        try await store.take([.gone("project", trip.id, seq: 2)], from: 1, to: 2)
        #expect(try await store.projects() == ["Mine"])
        let patch = try #require(try await store.nextPush(PushLimit())?.push.rows.first?.change.created)
        #expect(patch.generation == 3)
        #expect(patch.values["title"] == "Mine")
    }

    @Test func `L4 M2 if the server has forgotten a deletion, a later edit of the row is sent in full`() async throws {
        let store = try Desk().store
        let layout = try #require(store.layouts.first)
        let clocks = ColumnClocks(common: WriteClock(stamp: .zero, device: "OtherPhone"))
        var entry = RowEntry(
            ref: RowRef(table: layout.number, id: UUID().databaseValue), generation: 1,
            remote: RemoteRow(generation: 2, clocks: clocks, presence: .shown(layout.columns[0].mask)),
            local: LocalEdit(group: .zero, stamp: .zero))
        entry.goOnForgotten(in: layout)
        #expect(entry.isRestored)
    }

    /// A project is missing from a resync, but its removal must wait, because a row below it is being sent.
    private func removeLater(_ trip: Project, _ store: Store) async throws -> PushBatch {
        try await store.take([.project(trip)], to: 1)
        try await store.write { try Step(text: "Tickets", project: trip.id).insert($0) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await miss(trip, store)
        return batch
    }

    /// A project is missing from a resync, and is not removed yet.
    private func miss(_ trip: Project, _ store: Store) async throws {
        let projects = try #require(store.layout(named: "project"))
        try await store.apply { db in
            try UnseenSettling(store.layouts, ProgressTable(db), db, start: .max, isResync: true, at: 0)
                .settle([trip.id.databaseValue], of: projects, .remove)
        }
        #expect(try await store.projects() == ["Trip"])
        #expect(try await store.counts().parked == 1)
    }

    private func sentProject(_ store: Store) async throws -> RemotePush.Row.Change? {
        try await store.nextPush(PushLimit())?.push.rows.first { $0.table == "project" }?.change
    }

    @Test func `L4 a row edited while its removal waits stays and is sent in full`() async throws {
        let (store, trip) = (try Desk().store, Project(title: "Trip"))
        let batch = try await removeLater(trip, store)
        try await store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine'") }
        try await store.apply([.blocked(by: "project:\(trip.wireID)")], of: batch)
        #expect(try await store.rejections().isEmpty, "the step waits for its project")
        try await store.take([], from: 1, to: 1)
        #expect(try await store.projects() == ["Mine"])
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.conflicts().isEmpty)
        #expect(try await store.counts().parked == 0)
        let patch = try #require(try await sentProject(store)?.created)
        #expect(patch.generation == 1)
        #expect(patch.values["title"] == "Mine")
    }

    @Test(arguments: [0, 200])
    func `L4 a row edited while a reference prevents its removal is sent in full before any page`(others: Int)
        async throws
    {
        let (store, trip) = (try Desk(onDelete: "RESTRICT").store, Project(title: "Trip"))
        try await store.write { db in for number in 0..<others { try Step(text: "\(number)").insert(db) } }
        try await store.take([.project(trip)], to: 1)
        try await store.write { try Step(text: "Tickets", project: trip.id).insert($0) }
        try await miss(trip, store)
        try await store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine'") }
        let patch = try #require(try await sentProject(store)?.created)
        #expect(patch.values["title"] == "Mine")
        #expect(try await store.counts().parked == 0)
    }

    /// The check runs with each page and each push.
    @Test func `the search for edited rows among waiting removals does not scan all waiting rows`() async throws {
        let store = try Desk(onDelete: "RESTRICT").store
        let (trip, tour) = (Project(title: "Trip"), Project(title: "Tour"))
        try await store.take([.step(Step(text: "Visa"), in: tour)], to: 0)
        try await store.take([.project(trip)], to: 1)
        try await store.write { try Step(text: "Tickets", project: trip.id).insert($0) }
        let statements = Mutexed<[String]>([])
        let plans = try await store.apply { db in
            db.trace { event in
                if case .statement(let statement) = event { statements.value.append(statement.sql) }
            }
            try UnseenSettling.keepEdited(store.layouts, db)
            db.trace(options: [])
            return try statements.value.flatMap { sql in
                try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sql)").map { $0["detail"] as String }
            }
        }
        #expect(!plans.isEmpty)
        #expect(!plans.contains("SCAN optimist_parked"))
        #expect(!statements.value.contains { $0.contains("optimist_node") })
    }

    @Test func `L4 W5 a row that the user deletes while its removal waits is deleted on the server`() async throws {
        let (store, trip) = (try Desk().store, Project(title: "Trip"))
        let batch = try await removeLater(trip, store)
        try await store.write { try $0.execute(sql: "DELETE FROM project") }
        try await store.apply([.blocked(by: "project:\(trip.wireID)")], of: batch)
        try await store.take([], from: 1, to: 1)
        #expect(try await store.projects() == [])
        let push = try #require(try await store.nextPush(PushLimit())).push
        #expect(push.rows.map(\.table) == ["project", "step"])
        let tombstone = try #require(push.rows.first?.change.deleted)
        #expect(tombstone.generation == 2)
    }

    @Test func `L4 L3 a row removed after a wait can return from a restored server`() async throws {
        let (store, trip) = (try Desk().store, Project(title: "Trip"))
        let batch = try await removeLater(trip, store)
        try await store.apply([.blocked(by: "project:\(trip.wireID)")], of: batch)
        try await store.take([], from: 1, to: 1)
        #expect(try await store.projects() == [])
        // The server goes back to a time before the forgotten deletion.
        try await store.take([.project(trip)], from: 1, to: 2)
        #expect(try await store.projects() == ["Trip"])
    }

    @Test func `L4 a resync can be killed at any point`() async throws {
        goOn()
        try await reader.write("UPDATE book SET pages = 7 WHERE id = ?", [id(14)])
        for run in 0..<30 {
            try await reader.syncKilled(run: run)
            if run == 4 { backend.write("book", [id(17), id(40)], ["title": "Later"], at: 1_790_000_060_000) }
        }
        backend.settings.withLock { $0.answers = .max }
        try await reader.sync()
        #expect(try await reader.isEqualToBackend())
    }

    @Test func `L4 a resync starts over if the server forgets more while it runs`() async throws {
        goOn()
        backend.settings.withLock { $0.answers = 3 }
        reader.start()
        await reader.pass { backend.requests.count >= 12 }
        await reader.stop()
        backend.write("book", [id(17)], nil)
        backend.write("book", [id(18)], ["title": "Later"], at: 1_790_000_060_000)
        backend.purge()
        backend.settings.withLock { $0.answers = .max }
        reader.start()
        await reader.clock.sleepers(atLeast: 1)
        reader.clock.advance(by: .seconds(120))
        try await reader.untilSettled()
        await reader.stop()
        #expect(try await reader.isEqualToBackend())
    }
}

extension Reader {
    /// Syncs with pushes that arrive after everything was received, as on a device with much to send.
    func syncPullingFirst() async throws {
        backend.settings.withLock { $0.pushFailures = 1_000 }
        let pages = backend.pages
        start()
        try await pass(.seconds(30)) {
            guard backend.pages > pages else { return false }
            return try await store.tableProgress().allSatisfy { $0.isComplete && $0.at == nil }
        }
        await stop()
        backend.settings.withLock { $0.pushFailures = 0 }
        clock.advance(by: .seconds(120))
        try await sync()
    }
}
