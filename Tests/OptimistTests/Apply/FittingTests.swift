// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct FittingTests {
    let desk: Desk
    var store: Store { desk.store }

    init() throws { desk = try Desk() }

    let trip = Project(title: "Trip")
    let tour = Project(title: "Tour")
    let tickets = Step(text: "Tickets")
    let visa = Step(text: "Visa")

    // MARK: - R4

    @Test func `R4 children before their parents, cycles and self-references fit within one page`()
        async throws
    {
        try await store.take([
            .step(tickets, in: trip), .project(trip, part: tour), .project(tour, part: trip),
            .project(Project(id: visa.id, title: "Self"), part: Project(id: visa.id)),
        ])
        #expect(try await store.projects() == ["Self", "Tour", "Trip"])
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R4 a row that makes the app's trigger fail is parked, and the others are applied`() async throws {
        let (tickets, visa) = (tickets, visa)
        try await store.write {
            try $0.execute(
                sql: """
                    CREATE TRIGGER app AFTER INSERT ON step WHEN NEW.text = '\(tickets.text)'
                    BEGIN SELECT json('{'); END
                    """)
        }
        try await store.take([.step(tickets), .step(visa)])
        #expect(try await store.steps() == ["Visa"])
        #expect(try await store.counts().parked == 1)
    }

    @Test func `R4 a cycle fits next to a row without its parent`() async throws {
        try await store.take([
            .step(visa, in: Project()), .step(tickets, in: trip), .project(trip, part: tour),
            .project(tour, part: trip),
        ])
        #expect(try await store.projects() == ["Tour", "Trip"])
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.counts().parked == 1)
    }

    @Test func `R4 parked rows are applied with their parents, level by level`() async throws {
        let top = Project(title: "Top")
        try await store.take([.step(tickets, in: trip), .project(trip, part: tour)], to: 1)
        #expect(try await store.counts().parked == 2)
        try await store.take([.project(tour, part: top)], from: 1, to: 2)
        #expect(try await store.counts().parked == 3)
        try await store.take([.project(top)], from: 2, to: 3)
        #expect(try await store.counts().parked == 0)
        #expect(try await store.steps() == ["Tickets"])
    }

    @Test func `R4 a cycle over two pages fits when the second page completes it`() async throws {
        try await store.take([.project(trip, part: tour)], to: 1)
        try await store.take([.project(tour, part: trip)], from: 1, to: 2)
        #expect(try await store.projects() == ["Tour", "Trip"])
    }

    @Test func `R4 a later version or a delete replaces a parked row`() async throws {
        try await store.take([.step(tickets, in: trip), .step(visa, in: trip)], to: 1)
        try await store.take(
            [.step(tickets, seq: 2, stamp: 1_790_000_002_000), .gone("step", visa.id)], from: 1, to: 2)
        #expect(try await store.counts().parked == 0)
        #expect(try await store.steps() == ["Tickets"])
        try await store.take([.project(trip, seq: 3)], from: 2, to: 3)
        #expect(try await store.steps() == ["Tickets"])
    }

    @Test func `R4 a row blocked by a pending row is applied when that row is rejected`() async throws {
        let mine = Project(title: "Trip")
        try await store.write { try mine.insert($0) }
        try await store.take([.project(trip)])
        #expect(try await store.counts().parked == 1)
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.apply([.rejected(RemotePush.Refusal(code: "uniqueViolation", message: "Taken."))], of: batch)
        #expect(try await store.counts().parked == 0)
        #expect(try await store.read { try Project.fetchAll($0) }.map(\.id) == [trip.id])
    }

    // MARK: - M6

    @Test func `M6 rows that exchange unique values fit together and keep all other values`()
        async throws
    {
        try await store.take([.project(trip), .project(tour), .step(tickets, in: trip)], to: 1)
        try await store.take(
            [
                .project(trip, seq: 2, title: "Tour", stamp: 1_790_000_002_000),
                .project(tour, seq: 2, title: "Trip", part: trip, stamp: 1_790_000_002_000),
            ], from: 1, to: 2)
        #expect(try await store.read { try Project.fetchOne($0, key: trip.id)?.title } == "Tour")
        #expect(try await store.read { try Project.fetchOne($0, key: tour.id)?.title } == "Trip")
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.counts().parked == 0)
    }

    @Test func `M6 a row that collides with a local row does not keep others from exchanging values`()
        async throws
    {
        let mine = Project(title: "Mine")
        try await store.write { try mine.insert($0) }
        try await store.take([.project(trip), .project(tour), .project(Project(title: "Mine"))], to: 1)
        #expect(try await store.counts().parked == 1)
        try await store.take(
            [
                .project(trip, seq: 2, title: "Tour", stamp: 1_790_000_002_000),
                .project(tour, seq: 2, title: "Trip", stamp: 1_790_000_002_000),
            ], from: 1, to: 2)
        #expect(try await store.read { try Project.fetchOne($0, key: trip.id)?.title } == "Tour")
        #expect(try await store.counts().parked == 1)
    }

    @Test func `M6 a row that the server merged into another becomes that row, and references follow`()
        async throws
    {
        let mine = Project(title: "Trip")
        let visa = Step(text: "Visa", project: mine.id)
        try await store.write { db in
            try mine.insert(db)
            try visa.insert(db)
        }
        let batch = try #require(try await store.nextPush(PushLimit()))
        let verdicts: [RemotePush.Verdict] = batch.push.rows.map {
            $0.table == "project" ? .mergedInto(seq: 3, winner: trip.wireID) : .accepted(seq: 3)
        }
        try await store.apply(verdicts, of: batch)
        #expect(try await store.read { try Project.fetchAll($0).map(\.id) } == [trip.id])
        #expect(try await store.read { try Step.fetchAll($0).map(\.project) } == [trip.id])
        #expect(try await store.pendingCount() == 0)
        try await store.take([.project(trip, part: nil), .step(visa, seq: 3, in: trip)])
        #expect(try await store.projects() == ["Trip"])
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R4 a parked answer yields to later edits`() async throws {
        try await store.take([.step(tickets, in: tour), .project(tour)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE step SET text = 'mine', project = NULL") }
        let theirs = WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000, counter: 1), device: "OtherPhone")
        let won = RowPatch(
            generation: 1, clocks: ColumnClocks(common: theirs),
            values: ["text": "theirs", "project": .string(trip.wireID)])
        let first = try await store.nextPush(PushLimit())
        try await store.apply([.merged(seq: 3, won)], of: try #require(first))
        #expect(try await store.counts().parked == 1)

        try await store.write { try $0.execute(sql: "UPDATE step SET text = 'mine again'") }
        let second = try await store.nextPush(PushLimit())
        try await store.apply([.accepted(seq: 4)], of: try #require(second))
        try await store.take([.project(trip)], from: 1, to: 2)
        #expect(try await store.counts().parked == 0)
        #expect(try await store.steps() == ["mine again"])
        #expect(try await store.read { try Step.fetchAll($0).map(\.project) } == [trip.id])
    }

    @Test func `R4 a parked answer is applied in full although its row was deleted`()
        async throws
    {
        try await parkAndLose(nil, ["project": .string(trip.wireID)])
        #expect(try await store.steps() == [tickets.text])
    }

    @Test func `R4 a parked later life from an answer is applied in full`() async throws {
        try await parkAndLose(3, ["text": "Anew", "project": .string(trip.wireID)])
        #expect(try await store.steps() == ["Anew"])
    }

    @Test(arguments: [nil, "Mine"])
    func `R4 an answer's values for a waiting row go into the waiting version`(mine: String?) async throws {
        try await store.take([.project(tour), .step(tickets)], to: 1)
        let theirs = Step(id: tickets.id, text: "Theirs")
        try await store.take([.step(theirs, seq: 2, in: trip, stamp: 1_790_000_001_000)], from: 1, to: 2)
        try await store.write { [tour] db in
            try db.execute(
                sql: "UPDATE step SET project = ?, text = coalesce(?, text)", arguments: [tour.id, mine])
        }
        let batch = try await store.nextPush(PushLimit())
        let later = ColumnClocks(
            common: WriteClock(stamp: Stamp(milliseconds: 1_790_000_009_000), device: "OtherPhone"))
        let won = RowPatch(clocks: later, values: ["project": .string(trip.wireID)])
        try await store.apply([.merged(seq: 3, won)], of: try #require(batch))
        try await store.take([.project(trip)], from: 2, to: 3)
        #expect(try await store.counts().parked == 0)
        #expect(try await store.steps() == [mine ?? "Theirs"])
        #expect(try await store.read { try Step.fetchAll($0).map(\.project) } == [trip.id])
    }

    @Test func `R4 an answer that does not fit does not replace a waiting version from a later page`() async throws {
        let former = Project(title: "Former")
        try await store.write { try former.insert($0) }
        let create = try #require(try await store.nextPush(PushLimit()))
        try await store.take([.project(former, seq: 5, title: "Later", part: trip, generation: 3)], to: 5)
        let clocks = ColumnClocks(
            common: WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000), device: "OtherPhone"))
        let won = RowPatch(
            generation: 3, clocks: clocks, values: ["title": "Earlier", "part": .string(trip.wireID)])
        try await store.apply([.merged(seq: 4, won)], of: create)
        try await store.take([.project(trip, seq: 6)], from: 5, to: 6)
        #expect(try await store.projects() == ["Later", "Trip"])
    }

    @Test func `R4 S4 an answer that a row is gone keeps the next life that a later page brought`() async throws {
        try await store.take([.project(tour), .step(tickets, in: tour)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine'") }
        let edit = try #require(try await store.nextPush(PushLimit()))
        try await store.take([.project(tour, seq: 5, title: "Anew", part: trip, generation: 3)], from: 1, to: 5)
        #expect(try await store.counts().parked == 1)
        try await store.apply([.gone(seq: 4)], of: edit)
        try await store.take([.project(trip, seq: 6)], from: 5, to: 6)
        #expect(try await store.projects() == ["Anew", "Trip"])
    }

    @Test(arguments: [false, true])
    func `R4 a parked later life drops all values of the former life, even values that the user has edited`(
        hasEcho: Bool
    ) async throws {
        let former = Project(title: "Former")
        try await store.take([.project(tour)], to: 1)
        try await store.write { try former.insert($0) }
        let theirs = WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000, counter: 1), device: "OtherPhone")
        // No device has set a title in that life.
        let won = RowPatch(
            generation: 3, clocks: ColumnClocks(common: theirs), values: ["part": .string(trip.wireID)])
        let create = try await store.nextPush(PushLimit())
        try await store.apply([.merged(seq: 3, won)], of: try #require(create))
        try await store.write { [tour] db in
            try db.execute(sql: "UPDATE project SET part = ? WHERE id = ?", arguments: [tour.id, former.id])
        }
        let edit = try await store.nextPush(PushLimit())
        try await store.apply([.accepted(seq: 4)], of: try #require(edit))
        let echo = RowPatch(
            generation: 3, clocks: ColumnClocks(common: theirs), seq: 4, values: ["part": .string(tour.wireID)])
        let echoed = RemotePage.Row(table: "project", id: former.wireID, content: .row(echo))
        try await store.take([.project(trip)] + (hasEcho ? [echoed] : []), from: 1, to: 4)
        #expect(try await store.counts().parked == 0)
        #expect(try await store.projects() == [nil, "Tour", "Trip"])
    }

    /// Parks an answer's values, removes the row from the table, and then receives the project that the values refer
    /// to.
    private func parkAndLose(_ generation: Int?, _ values: JSONObject) async throws {
        let tickets = tickets
        try await store.write { try tickets.insert($0) }
        let theirs = WriteClock(stamp: Stamp(milliseconds: 1_790_000_009_000), device: "OtherPhone")
        let won = RowPatch(generation: generation, clocks: ColumnClocks(common: theirs), values: values)
        let batch = try await store.nextPush(PushLimit())
        try await store.apply([.merged(seq: 3, won)], of: try #require(batch))
        #expect(try await store.counts().parked == 1)
        try await store.apply { db in
            try db.execute(sql: "DELETE FROM step WHERE id = ?", arguments: [tickets.id])
        }
        try await store.take([.project(trip)], to: 1)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `M6 a row parked next to its double takes the double's place with the verdict`() async throws {
        let mine = Project(title: "Trip")
        let visa = Step(text: "Visa", project: mine.id)
        try await store.write { db in
            try mine.insert(db)
            try visa.insert(db)
        }
        try await store.take([.project(trip, part: nil), .project(tour, part: trip)])
        #expect(try await store.counts().parked == 2)
        let batch = try #require(try await store.nextPush(PushLimit()))
        let verdicts: [RemotePush.Verdict] = batch.push.rows.map {
            $0.table == "project" ? .mergedInto(seq: 3, winner: trip.wireID) : .accepted(seq: 3)
        }
        try await store.apply(verdicts, of: batch)
        #expect(try await store.projects() == ["Tour", "Trip"])
        #expect(try await store.counts().parked == 0)
    }

    @Test func `M6 a received row that was merged into another passes on its references`() async throws {
        try await store.take([.project(trip), .project(tour), .step(tickets, in: trip)], to: 1)
        let visa = Step(text: "Visa", project: trip.id)
        try await store.write { try visa.insert($0) }
        let tombstone = Tombstone(
            generation: 2, clock: WriteClock(stamp: Stamp(milliseconds: 1_790_000_001_000), device: "server"), seq: 2,
            mergedInto: tour.wireID)
        try await store.take(
            [RemotePage.Row(table: "project", id: trip.wireID, content: .deleted(tombstone))], from: 1, to: 2)
        #expect(try await store.read { try Step.fetchAll($0).map(\.project) } == [tour.id, tour.id])
        #expect(try await store.pendingCount() == 1)
    }

    @Test func `M6 a unique index that the server does not know stops sync and explains what to do`() async throws {
        func schema(_ indexes: [UniqueIndex]) -> Schema {
            let project = TypeSchema(columns: ["title": ColumnSchema(.string)], uniqueIndexes: indexes)
            return Schema(id: "desk", types: ["project": project])
        }
        try await store.check(against: schema([UniqueIndex(["title"])]))
        let error = await #expect(throws: OptimistError.self) { try await store.check(against: schema([])) }
        #expect(error?.description.contains("@unique") == true)
    }

    @Test func `M6 R4 a row merged into its unique value's new owner passes on its references`() async throws {
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        let merged = RemotePage.Row(
            table: "project", id: trip.wireID,
            content: .deleted(Tombstone(generation: 2, clock: nil, seq: 2, mergedInto: tour.wireID)))
        let rows: [RemotePage.Row] = [
            .project(tour, seq: 2, title: "Trip"), merged,
            .step(tickets, seq: 2, in: tour, stamp: 1_790_000_002_000),
        ]
        try await store.take(rows, from: 1, to: 2)
        #expect(try await store.projects() == ["Trip"])
        let tour = tour.id
        #expect(try await store.read { try Step.fetchOne($0)?.project } == tour)
        #expect(try await store.counts().parked == 0)
    }
}
