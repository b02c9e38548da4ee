// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist

/// Rows that are restored to the server, and the rows they refer to.
extension RewindTests {
    /// The remote goes back to its first transaction.
    private func goBack(_ store: Store) async throws {
        try await store.rewind(["step", "project"], at: "e1.3", to: [("e1", 0), ("e2", 1)].map(RemoteEpoch.init))
    }

    private func take(_ rows: [RemotePage.Row], from: Int = 1, to seq: Int = 2, in store: Store) async throws {
        #expect(
            try await store.apply(
                RemotePage(from: "e2.\(from)", cursor: "e2.\(seq)", hasMore: false, rows: rows),
                to: ["step", "project"],
                initialCursor: "e2.0"))
    }

    @Test func `L3 M1 a reference cleared while its row is restored is sent with a later clock`()
        async throws
    {
        let (desk, trip, tickets) = (try Desk(onDelete: "SET NULL"), Project(title: "Trip"), Step(text: "Tickets"))
        try await desk.store.take([.project(trip)], to: 1)
        try await desk.store.take([.step(tickets, seq: 3, in: trip)], from: 1, to: 3)
        try await goBack(desk.store)
        try await take([.gone("project", trip.id, seq: 2)], in: desk.store)
        #expect(try await desk.store.projects().isEmpty)
        let push = try #require(try await desk.store.nextPush(PushLimit())).push
        let patch = try #require(push.rows.first?.change.created)
        #expect(patch.values["text"] == "Tickets")
        #expect(patch.values["project"] == .null)
        let (text, project) = (try #require(patch.clocks?["text"]), try #require(patch.clocks?["project"]))
        #expect(project > text, "the null is later than the sent value")
    }

    @Test func `L3 R2 a deletion waits for the answers to restored rows below it`() async throws {
        let (desk, trip, tickets) = (try Desk(), Project(title: "Trip"), Step(text: "Tickets"))
        try await desk.store.take([.project(trip)], to: 1)
        try await desk.store.take([.step(tickets, seq: 3, in: trip)], from: 1, to: 3)
        try await goBack(desk.store)
        try await take([.gone("project", trip.id, seq: 2)], in: desk.store)
        #expect(try await desk.store.steps() == ["Tickets"])
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        #expect(batch.push.rows.map(\.table) == ["step"])
        #expect(try await desk.store.apply([.gone(seq: 4)], of: batch), "a pull must follow")
        #expect(try await desk.store.steps().isEmpty)
        try await take([], from: 2, to: 4, in: desk.store)
        #expect(try await desk.store.projects().isEmpty)
        #expect(try await desk.store.counts().parked == 0)
    }

    @Test func `L3 R2 a restored row whose deletion waits shows the server's former value, not the user's edit`()
        async throws
    {
        let (desk, trip, tickets) = (try Desk(), Project(title: "Trip"), Step(text: "Tickets"))
        try await desk.store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        try await desk.store.take(
            [.project(trip, seq: 3, title: "Tour", stamp: 1_790_000_000_500)], from: 1, to: 3)
        try await goBack(desk.store)
        try await desk.store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine'") }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_001_000), device: "OtherPhone")
        try await desk.store.apply([.gone(seq: 4, Tombstone(generation: 2, clock: clock))], of: batch)
        #expect(try await desk.store.counts().parked == 1, "the step may have another project by now")
        #expect(try await desk.store.projects() == ["Tour"])
        #expect(try await desk.store.pendingCount() == 0)
        #expect(try await desk.store.conflicts().map(\.mine) == [["title": "Mine"]])
        try await take([], from: 1, to: 4, in: desk.store)
        #expect(try await desk.store.projects().isEmpty)
    }

    @Test func `L3 R4 a restored row that a deleted parent blocks is refused`()
        async throws
    {
        let (desk, trip, tickets) = (try Desk(), Project(title: "Trip"), Step(text: "Tickets"))
        try await desk.store.take([.project(trip)], to: 1)
        try await desk.store.take([.step(tickets, seq: 3, in: trip)], from: 1, to: 3)
        try await goBack(desk.store)
        try await take([.gone("project", trip.id, seq: 2)], in: desk.store)
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        try await desk.store.apply([.blocked(by: "project:\(trip.wireID)")], of: batch)
        #expect(try await desk.store.rejections().map(\.table) == ["step"])
        try await take([], from: 2, to: 2, in: desk.store)
        #expect(try await desk.store.steps().isEmpty)
        #expect(try await desk.store.projects().isEmpty)
        #expect(try await desk.store.counts().parked == 0)
    }

    @Test func `L3 R2 a row is restored without the edit that a deletion undid`() async throws {
        let (desk, tickets) = (try Desk(), Step(text: "Tickets"))
        let (trip, tour) = (Project(title: "Trip"), Project(title: "Tour"))
        try await desk.store.take([.project(trip), .project(tour)], to: 1)
        try await desk.store.take([.step(tickets, seq: 3, in: trip)], from: 1, to: 3)
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET project = ?", arguments: [tour.id]) }
        try await goBack(desk.store)
        try await take([.gone("project", tour.id, seq: 2)], in: desk.store)
        #expect(try await desk.store.read { try Step.fetchOne($0)?.project } == trip.id)
        let push = try #require(try await desk.store.nextPush(PushLimit())).push
        let patch = try #require(push.rows.first?.change.created)
        #expect(patch.values["project"]?.string == trip.wireID)
    }

    @Test func `L3 V1 a new row reported as deleted is sent again if the server loses that deletion`()
        async throws
    {
        let (store, trip, tickets) = (try Desk().store, Project(title: "Trip"), Step(text: "Tickets"))
        try await store.take([.step(tickets)], to: 1)
        try await store.write { try trip.insert($0) }
        try await store.write { try $0.execute(sql: "UPDATE project SET title = 'Tour'") }
        try await store.write { try $0.execute(sql: "UPDATE step SET project = ?", arguments: [trip.id]) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        let verdicts = batch.push.rows.map {
            $0.table == "project" ? RemotePush.Verdict.gone(seq: 3) : .retry(after: .seconds(60))
        }
        #expect(try await store.apply(verdicts, of: batch), "a row below the project was sent")
        try await store.rewind(["step", "project"], at: "e1.1", to: [("e1", 0), ("e2", 2)].map(RemoteEpoch.init))
        let push = try #require(try await store.nextPush(PushLimit())).push
        let projects = [batch.push, push].map { $0.rows.first { $0.table == "project" }?.change }
        let (first, second) = (try #require(projects[0]?.created), try #require(projects[1]?.created))
        #expect(second.values == first.values)
        for column in ["title", "part"] { #expect(second.clocks?[column] == first.clocks?[column]) }
    }

    /// A restored row whose edited reference lost to another device's later reference.
    private func healing(_ tickets: Step, in tour: Project, insteadOf trip: Project, _ store: Store) async throws {
        try await store.take([.project(trip), .project(tour), .step(tickets)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE step SET project = ?", arguments: [tour.id]) }
        try await store.take([.step(tickets, seq: 3, in: trip, stamp: 1_790_000_005_000)], from: 1, to: 3)
        try await goBack(store)
    }

    @Test func `L3 M7 an edited reference older than the restored one goes to the journal`() async throws {
        let (store, tickets) = (try Desk(onDelete: "SET NULL").store, Step(text: "Tickets"))
        let (trip, tour) = (Project(title: "Trip"), Project(title: "Tour"))
        try await healing(tickets, in: tour, insteadOf: trip, store)
        #expect(try await store.read { try Step.fetchOne($0)?.project } == trip.id)
        #expect(try await store.conflicts().map(\.mine) == [["project": .string(tour.wireID)]])
        #expect(try await store.conflicts().map(\.reason) == [.overwritten])
        try await take([.gone("project", trip.id, seq: 2)], in: store)
        let push = try #require(try await store.nextPush(PushLimit())).push
        let patch = try #require(push.rows.first?.change.created)
        #expect(patch.values["project"] == .null)
    }

    @Test func `L3 M1 an edited reference survives if the server's former reference is to a deleted row`() async throws
    {
        let (store, tickets) = (try Desk().store, Step(text: "Tickets"))
        let (trip, tour) = (Project(title: "Trip"), Project(title: "Tour"))
        try await store.take([.project(trip), .project(tour), .step(tickets)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE step SET project = ?", arguments: [tour.id]) }
        let lost = RemotePage.Row.step(tickets, seq: 3, in: trip, stamp: 1_790_000_005_000)
        try await store.take([lost], from: 1, to: 3)
        try await store.write { try $0.execute(sql: "DELETE FROM project WHERE title = 'Trip'") }
        try await goBack(store)
        let push = try #require(try await store.nextPush(PushLimit())).push
        let patch = try #require(push.rows.lazy.compactMap(\.change.created).first)
        #expect(patch.values["project"]?.string == tour.wireID)
        #expect(try #require(patch.clocks?["project"]) > #require(lost.patch?.clocks?["project"]))
        #expect(try await store.conflicts().isEmpty)
    }

    @Test func `L3 a waiting deletion from an answer is forgotten if the server loses that answer`() async throws {
        let (desk, trip, tickets) = (try Desk(), Project(title: "Trip"), Step(text: "Tickets"))
        try await desk.store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        try await desk.store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine'") }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        #expect(try await desk.store.apply([.gone(seq: 3)], of: batch), "the deletion waits for the rows below")
        try await desk.store.rewind(
            ["step", "project"], at: "e1.1", to: [("e1", 0), ("e2", 2)].map(RemoteEpoch.init))
        let (asked, page) = (
            RemoteSnapshot.Request(table: "project", limit: 100),
            RemotePage(from: "e2.2", cursor: "e2.2", hasMore: false, rows: [])
        )
        #expect(try await desk.store.apply(RemoteSnapshot(at: "e2.2", rows: [.project(trip)], next: nil), of: asked))
        #expect(try await desk.store.apply(page, to: ["project"], initialCursor: "e2.0"))
        #expect(try await desk.store.projects() == ["Trip"], "the edit is in the journal")
        #expect(try await desk.store.counts().parked == 0)
    }

    @Test func `L3 R2 a deletion waits for restored rows at any depth below it`() async throws {
        let (store, part, whole) = (try Desk().store, Project(title: "Part"), Project(title: "Whole"))
        let tickets = Step(text: "Tickets")
        try await store.take([.project(whole), .project(part, part: whole)], to: 1)
        try await store.take([.step(tickets, seq: 3, in: part)], from: 1, to: 3)
        try await goBack(store)
        try await take([.gone("project", whole.id, seq: 2), .gone("project", part.id, seq: 2)], in: store)
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.projects().count == 2)
    }

    @Test func `L3 V5 a restored row moved below a refused row is restored where it was`() async throws {
        let (desk, trip, tickets) = (try Desk(), Project(title: "Trip"), Step(text: "Tickets"))
        try await desk.store.take([], to: 1)
        try await desk.store.take([.step(tickets, seq: 3)], from: 1, to: 3)
        try await desk.store.write { db in
            try trip.insert(db)
            try db.execute(sql: "UPDATE step SET project = ?", arguments: [trip.id])
        }
        try await goBack(desk.store)
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        let refusal = RemotePush.Verdict.rejected(RemotePush.Refusal(code: "forbidden", message: "No."))
        try await desk.store.apply(
            batch.push.rows.map { $0.table == "project" ? refusal : .groupFailed(by: [], current: nil) }, of: batch)
        #expect(try await desk.store.steps() == ["Tickets"])
        #expect(try await desk.store.rejections().count == 1, "one rejection has both rows")
        let push = try #require(try await desk.store.nextPush(PushLimit())).push
        let patch = try #require(push.rows.first?.change.created)
        #expect(patch.values["project"] == .null)
        #expect(patch.values["text"] == "Tickets")
    }

    @Test func `L3 V5 a refused edit of a lost row reverts to the values that the server lost`() async throws {
        let (desk, trip, tickets) = (try Desk(), Project(title: "Trip"), Step(text: "Tickets"))
        try await desk.store.take([.project(trip)], to: 1)
        try await desk.store.take([.step(tickets, seq: 3, in: trip)], from: 1, to: 3)
        try await goBack(desk.store)
        try await desk.store.write(allOrNothing: true) { db in
            try Project(title: "Tour").insert(db)
            try db.execute(sql: "UPDATE step SET project = (SELECT id FROM project WHERE title = 'Tour'), text = 'Two'")
        }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        let refusal = RemotePush.Verdict.rejected(RemotePush.Refusal(code: "forbidden", message: "No."))
        try await desk.store.apply(
            batch.push.rows.map { $0.table == "project" ? refusal : .groupFailed(by: [], current: nil) }, of: batch)
        let step = try await desk.store.read { try Step.fetchOne($0) }
        #expect(step?.project == trip.id && step?.text == "Tickets")
        let push = try #require(try await desk.store.nextPush(PushLimit())).push
        let patch = try #require(push.rows.first?.change.created)
        #expect(patch.values["project"]?.string == trip.wireID && patch.values["text"] == "Tickets")
        #expect(patch.clocks?["text"]?.device == "OtherPhone")
    }

    @Test func `L3 V5 a row that refers to a refused row is restored without the reference`() async throws {
        let store = try Desk(onDelete: "SET NULL").store
        let (trip, tickets) = (Project(title: "Trip"), Step(text: "Tickets"))
        try await store.take([], to: 1)
        try await store.take([.project(trip, seq: 3), .step(tickets, seq: 3, in: trip)], from: 1, to: 3)
        try await store.write(allOrNothing: true) { db in
            try db.execute(sql: "UPDATE project SET title = 'Forbidden'")
            try db.execute(sql: "UPDATE step SET text = 'Two tickets'")
        }
        try await goBack(store)
        let batch = try #require(try await store.nextPush(PushLimit()))
        let refusal = RemotePush.Verdict.rejected(RemotePush.Refusal(code: "forbidden", message: "No."))
        try await store.apply(
            batch.push.rows.map { $0.table == "project" ? refusal : .groupFailed(by: [], current: nil) }, of: batch)
        #expect(try await store.projects().isEmpty)
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.counts().parked == 0)
        let patch = try #require(try await store.nextPush(PushLimit())?.push.rows.first?.change.created)
        #expect(patch.values["text"] == "Tickets" && patch.values["project"] == .null)
    }
}
