// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

/// Received deletions whose cascade would delete rows that the server may have elsewhere.
extension FittingTests {
    private func nextLife(of project: Project, seq: Int64) -> RemotePage.Row {
        .project(project, seq: seq, stamp: 1_790_000_002_000, generation: 3)
    }

    /// The user recreates the trip. The server has a step below the former life, and refuses the new life.
    private func refuseNewLife(in store: Store) async throws {
        let trip = trip
        try await store.take([.project(trip)], to: 1)
        try await store.write { db in
            try db.execute(sql: "DELETE FROM project")
            try trip.insert(db)
        }
        try await store.take([.step(tickets, seq: 2, in: trip)], from: 1, to: 2)
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.apply([.rejected(RemotePush.Refusal(code: "forbidden", message: "No."))], of: batch)
        #expect(try await store.projects().isEmpty)
        #expect(try await store.counts().parked == 1)
    }

    @Test func `R2 a step that moves with a later page is not deleted with its former project`() async throws {
        try await store.take([.project(trip), .project(tour), .step(tickets, in: trip)], to: 1)
        try await store.take([.gone("project", trip.id)], from: 1, to: 2, hasMore: true)
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.counts().parked == 1)
        try await store.take([.step(tickets, seq: 3, in: tour, stamp: 1_790_000_002_000)], from: 2, to: 3)
        #expect(try await store.projects() == ["Tour"])
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R2 S10 a deletion waits for a table that is behind and whose rows may have moved`()
        async throws
    {
        try await store.take([.project(trip), .project(tour), .step(tickets, in: trip)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE step SET text = 'Two tickets'") }
        // Steps wait for a better network.
        try await store.take([.gone("project", trip.id, seq: 3)], from: 1, to: 3, of: ["project"])
        #expect(try await store.steps() == ["Two tickets"])
        #expect(try await store.counts().parked == 1)
        let tour = tour
        try await store.take(
            [.step(tickets, seq: 2, in: tour, stamp: 1_790_000_002_000)], from: 1, to: 3, of: ["step"])
        #expect(try await store.projects() == ["Tour"])
        #expect(try await store.steps() == ["Two tickets"])
        #expect(try await store.pendingCount() == 1)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R2 L1 a deletion does not wait for a table that the remote no longer keeps`() async throws {
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        // The steps belong to another version of the server and may return with it.
        try await store.take([.gone("project", trip.id)], from: 1, to: 2, of: ["project"])
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.counts().parked == 1)
        try await store.take([], from: 2, to: 2, of: ["project"], served: ["project"])
        #expect(try await store.projects().isEmpty)
        #expect(try await store.steps().isEmpty)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R2 L1 the engine notices which tables the remote no longer keeps`() async throws {
        let backend = FakeBackend()
        backend.write("project", [trip.id], ["title": "Trip"])
        backend.write("step", [tickets.id], ["text": "Tickets", "project": .string(trip.wireID)])
        try await sync(with: backend) { try await $0.tableProgress().allSatisfy { $0.isComplete && $0.at == nil } }
        #expect(try await store.steps() == ["Tickets"])
        backend.settings.withLock { $0.tables = ["project"] }
        backend.write("project", [trip.id], nil)
        backend.write("project", [tour.id], ["title": "Tour"])
        try await sync(with: backend) { try await $0.projects().contains("Tour") }
        #expect(try await store.projects() == ["Tour"])
        #expect(try await store.steps().isEmpty)
    }

    private func sync(with backend: FakeBackend, until isDone: (Store) async throws -> Bool) async throws {
        let engine = SyncEngine(store: store, remote: backend, reachability: ManualReachability())
        let changes = store.changes.stream()
        let run = Task { await engine.run() }
        defer { run.cancel() }
        try await changes.reach { _ in try await isDone(store) }
        run.cancel()
        await run.value
    }

    @Test func `L4 R2 a removal after a resync does not wait for a table that the remote no longer keeps`() async throws
    {
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        try await store.startResync(of: ["project"])
        #expect(
            try await store.apply(
                RemoteSnapshot(at: "e1.5", rows: [], next: nil),
                of: RemoteSnapshot.Request(table: "project", limit: 100)))
        try await store.take([], from: 5, to: 5, of: ["project"], served: ["project"])
        try await store.settleUnseen(.remove, served: ["project"])
        #expect(try await store.projects().isEmpty)
        #expect(try await store.steps().isEmpty)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R2 a project that is recreated in a later page keeps its steps`() async throws {
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        try await store.take([.gone("project", trip.id)], from: 1, to: 2, hasMore: true)
        try await store.take([nextLife(of: trip, seq: 3)], from: 2, to: 3)
        #expect(try await store.projects() == ["Trip"])
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R2 with the last page, a deletion cascades to the rows still below it`() async throws {
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        try await store.take([.gone("project", trip.id)], from: 1, to: 2, hasMore: true)
        try await store.take([], from: 2, to: 2, hasMore: true)
        #expect(try await store.projects() == ["Trip"])
        try await store.take([], from: 2, to: 3)
        #expect(try await store.projects().isEmpty)
        #expect(try await store.steps().isEmpty)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R2 M7 an answered deletion waits for a page that is as late as itself`() async throws {
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE step SET text = 'Two tickets'") }
        let first = try #require(try await store.nextPush(PushLimit()))
        try await store.apply([.accepted(seq: 2)], of: first)
        try await store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine'") }
        let second = try #require(try await store.nextPush(PushLimit()))
        try await store.apply([.gone(seq: 9)], of: second)
        // The server read this page before it deleted the project.
        try await store.take([], from: 1, to: 8, head: 8)
        #expect(try await store.steps() == ["Two tickets"])
        let clock = try #require(try await store.entry(tickets)?.remote.clocks["text"])
        var step = Tombstone(generation: 2, clock: nil, seq: 9)
        step.unread.add(clock, in: "text")
        let deleted = RemotePage.Row(table: "step", id: tickets.wireID, content: .deleted(step))
        try await store.take([deleted, .gone("project", trip.id, seq: 9)], from: 8, to: 9, head: 9)
        #expect(try await store.steps().isEmpty)
        #expect(try await store.projects().isEmpty)
        let journal = try await store.read { try String.fetchAll($0, sql: "SELECT mine FROM optimist_journal") }
        #expect(journal.contains { $0.contains("Two tickets") })
    }

    @Test(arguments: ["CASCADE", "SET NULL"])
    func `R2 a row written after its parent's deletion refers to the parent's next life`(onDelete: String)
        async throws
    {
        let store = try Desk(onDelete: onDelete).store
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        let trip = trip
        try await store.write { try $0.execute(sql: "UPDATE step SET text = 'Flights'") }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.apply([.accepted(seq: 4)], of: batch)
        try await store.take([.gone("project", trip.id, seq: 2)], from: 1, to: 2)
        #expect(try await store.projects() == ["Trip"], "the deletion waits")
        try await store.take([nextLife(of: trip, seq: 3)], from: 2, to: 4)
        #expect(try await store.read { try Step.fetchOne($0)?.project } == trip.id)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R2 S4 a deletion waits for the answer to a row below it`() async throws {
        let store = try Desk(onDelete: "SET NULL").store
        let (trip, visa) = (trip, visa)
        try await store.take([.project(trip)], to: 1)
        try await store.write { try Step(id: visa.id, text: "Visa", project: trip.id).insert($0) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.take([.gone("project", trip.id, seq: 2)], from: 1, to: 2)
        #expect(try await store.read { try Step.fetchOne($0)?.project } == trip.id)
        #expect(try await store.apply([.accepted(seq: 4)], of: batch), "a pull must follow")
        try await store.take([nextLife(of: trip, seq: 3), .step(visa, seq: 4, in: trip)], from: 2, to: 4)
        #expect(try await store.read { try Step.fetchOne($0)?.project } == trip.id)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R2 S4 a deletion waits for the last page while a sent row below it is unanswered`() async throws {
        let (trip, visa) = (trip, visa)
        try await store.take([.project(trip)], to: 1)
        try await store.write { try Step(id: visa.id, text: "Visa", project: trip.id).insert($0) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.apply([.retry(after: .seconds(1))], of: batch)
        try await store.take([.gone("project", trip.id, seq: 2)], from: 1, to: 2, hasMore: true)
        #expect(try await store.steps() == ["Visa"])
        try await store.take([nextLife(of: trip, seq: 3), .step(visa, seq: 4, in: trip)], from: 2, to: 4)
        #expect(try await store.read { try Step.fetchOne($0)?.project } == trip.id)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R2 M1 a cleared reference has a later clock than the reference that was sent`()
        async throws
    {
        let store = try Desk(onDelete: "SET NULL").store
        let (trip, visa) = (trip, visa)
        func clock(_ batch: PushBatch?) throws -> WriteClock? {
            guard case .create(let patch) = try #require(batch?.push.rows.first).change else { return nil }
            return patch.clocks?["project"]
        }
        try await store.take([.project(trip)], to: 1)
        try await store.write { try Step(id: visa.id, text: "Visa", project: trip.id).insert($0) }
        let first = try #require(try await store.nextPush(PushLimit()))
        try await store.apply([.retry(after: .zero)], of: first)
        try await store.take([.gone("project", trip.id, seq: 2)], from: 1, to: 2)
        let second = try #require(try await store.nextPush(PushLimit()))
        #expect(second.sent.first?.values["project"] == .null)
        #expect(try #require(try clock(second)) > #require(try clock(first)))
        try await store.apply([.retry(after: .zero)], of: second)
        let tour = tour
        try await store.write { db in
            try tour.insert(db)
            try db.execute(sql: "UPDATE step SET project = ?", arguments: [tour.id])
        }
        let third = try #require(try await store.nextPush(PushLimit())).push.rows.first { $0.table == "step" }
        let patch = try #require(third?.change.created)
        #expect(try #require(patch.clocks?["project"]) > #require(try clock(second)), "the user's next edit is later")
    }

    @Test func `R2 M7 a deleted row is shown without its edits until a page settles the rows below it`() async throws {
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine'") }
        let batch = try #require(try await store.nextPush(PushLimit()))
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_005_000), device: "OtherPhone")
        let deletion = Tombstone(generation: 2, clock: clock)
        #expect(try await store.apply([.gone(seq: 9, deletion)], of: batch), "a pull must follow")
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.pendingCount() == 0)
        let table = try #require(store.layouts.first { $0.name == "project" }).number
        let waiting = try await store.read { [trip] db in
            try ParkedRows(db).content(RowRef(table: table, id: trip.id.databaseValue))
        }
        #expect(
            waiting == .deleted(Tombstone(generation: 2, clock: clock, seq: 9)), "the deletion waits, with its time")
        let mine = try await store.read { try String.fetchOne($0, sql: "SELECT mine FROM optimist_journal") }
        #expect(mine?.contains("Mine") == true)
        try await store.take([.gone("step", tickets.id), .gone("project", trip.id)], from: 1, to: 2)
        #expect(try await store.projects().isEmpty)
        #expect(try await store.steps().isEmpty)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R4 a row that refers to a deleted row is refused if the server has forgotten that row`() async throws {
        let store = try Desk(onDelete: "RESTRICT").store
        let (trip, visa) = (trip, visa)
        try await store.take([.project(trip)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine'") }
        let first = try #require(try await store.nextPush(PushLimit()))
        try await store.write { try Step(id: visa.id, text: "Visa", project: trip.id).insert($0) }
        try await store.apply([.gone(seq: 9)], of: first)
        #expect(try await store.counts().parked == 1, "the step holds back the deletion")
        let second = try #require(try await store.nextPush(PushLimit()))
        try await store.apply([.blocked(by: "project:\(trip.wireID)")], of: second)
        #expect(try await store.rejections().map(\.code) == ["invalidProperties"])
        #expect(try await store.projects().isEmpty)
        #expect(try await store.steps().isEmpty)
        #expect(try await store.counts().parked == 0)
    }

    @Test(arguments: ["CASCADE", "SET NULL"])
    func `R2 V2 a received row below a refused life returns with the next life`(onDelete: String)
        async throws
    {
        let store = try Desk(onDelete: onDelete).store
        try await refuseNewLife(in: store)
        try await store.take([nextLife(of: trip, seq: 3)], to: 3, of: ["project"])
        #expect(try await store.read { try Step.fetchOne($0)?.project } == trip.id)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R2 V2 a received row below a refused life is removed when the server deletes it`() async throws {
        try await refuseNewLife(in: store)
        try await store.take([.gone("project", trip.id, seq: 3)], to: 3, of: ["project"])
        try await store.take([.gone("step", tickets.id, seq: 3)], from: 2, to: 3, of: ["step"])
        #expect(try await store.steps().isEmpty)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `V2 a row that a cascade deleted before its answer is not taken back`() async throws {
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE step SET text = 'Two tickets'") }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.take([.gone("project", trip.id, seq: 2)], from: 1, to: 2)
        #expect(try await store.steps().isEmpty)
        let refusal = RemotePush.Verdict.rejected(RemotePush.Refusal(code: "forbidden", message: "No."))
        try await store.apply(batch.sent.map { _ in refusal }, of: batch)
        #expect(try await store.entry(tickets)?.dirty == 0)
        #expect(try await store.rejections().isEmpty)
        #expect(try await store.pendingCount() == 0)
    }

    @Test func `R2 R4 a deletion is applied as soon as the rows below it have moved, in the same page`() async throws {
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE step SET text = 'Flights'") }
        let batch = try #require(try await store.nextPush(PushLimit()))
        let moved = RowPatch(
            generation: 3,
            clocks: ColumnClocks(common: WriteClock(stamp: Stamp(milliseconds: 1), device: "OtherPhone")),
            values: ["text": "Tickets", "project": .string(tour.wireID)])
        try await store.apply([.merged(seq: 5, moved)], of: batch)
        #expect(try await store.counts().parked == 1, "the tour has not arrived yet")
        try await store.take([.gone("project", trip.id, seq: 2), .project(tour, seq: 4)], from: 1, to: 5)
        #expect(try await store.projects() == ["Tour"])
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.counts().parked == 0)
    }

    /// The number of parked rows that the next page or answer would try.
    private func tried() async throws -> Int {
        let store = store
        return try await store.read { db in
            try ParkedRows(db).ready(AppTables(store.layouts, db), besides: [], hasMore: false).count
        }
    }

    @Test(arguments: ["put off", "accepted", "refused", "discarded"])
    func `R4 a row received below its unsent deletion is tried only when the deletion is settled`(
        end: String
    ) async throws {
        let (store, trip) = (store, trip)
        try await store.take([.project(trip)], to: 1)
        try await store.write { try $0.execute(sql: "DELETE FROM project") }
        let theirs = RemotePage.Row.project(trip, seq: 2, title: "Theirs", stamp: 1_790_000_002_000)
        try await store.take([theirs], from: 1, to: 2)
        let batch = try #require(try await store.nextPush(PushLimit()))
        #expect(try await tried() == 0)
        var former = try #require(RemotePage.Row.project(trip).patch)
        former.seq = 1
        switch end {
        case "put off": try await store.apply([.retry(after: nil)], of: batch)
        case "accepted": try await store.apply([.accepted(seq: 3)], of: batch)
        case "refused":
            let refusal = RemotePush.Refusal(code: "forbidden", message: "No.", current: former)
            try await store.apply([.rejected(refusal)], of: batch)
        default: try await store.discardPending()
        }
        #expect(try await tried() == 0)
        #expect(try await store.counts().parked == (end == "put off" ? 1 : 0))
        #expect(try await store.projects() == (end == "refused" || end == "discarded" ? ["Theirs"] : []))
    }
}
