// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

extension FittingTests {
    @Test func `R2 an answer that a row is gone deletes its unsent children and journals them`() async throws {
        try await store.take([.project(trip)], to: 1)
        let visa = Step(text: "Visa", project: trip.id)
        try await store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine'") }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.write { try visa.insert($0) }
        try await store.apply([.gone(seq: 9)], of: batch)
        #expect(try await store.read { try Project.fetchCount($0) } == 0)
        #expect(try await store.steps().isEmpty)
        #expect(try await store.pendingCount() == 0)
        let journal = try await store.read { try String.fetchAll($0, sql: "SELECT mine FROM optimist_journal") }
        #expect(journal.contains { $0.contains("Visa") } && journal.contains { $0.contains("Mine") })
    }

    @Test(arguments: [false, true])
    func `R2 S5 rows below a deletion that does not fit stay pending, and later edits of them are sent`(
        isAnswer: Bool
    ) async throws {
        try await store.take([.project(trip)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine'") }
        let batch = try #require(try await store.nextPush(PushLimit()))
        let visa = Step(text: "Visa", project: trip.id)
        try await store.write { db in
            try visa.insert(db)
            try db.execute(
                sql: "CREATE TRIGGER app BEFORE DELETE ON project BEGIN SELECT RAISE(ABORT, 'not now'); END")
        }
        if isAnswer {
            try await store.apply([.gone(seq: 9)], of: batch)
        } else {
            try await store.take([.gone("project", trip.id)], from: 1, to: 2)
        }
        #expect(try await store.counts().parked == 1)
        #expect(try await store.steps() == ["Visa"])
        let journal = try await store.read { try String.fetchAll($0, sql: "SELECT mine FROM optimist_journal") }
        #expect(!journal.contains { $0.contains("Visa") })
        try await store.write { try $0.execute(sql: "UPDATE step SET text = 'Flights'") }
        #expect(try await store.entry(visa)?.isPending == true)
    }

    @Test func `R1 R2 a row deleted with its parent returns when a page brings both again`()
        async throws
    {
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        try await store.take([.gone("project", trip.id)], from: 1, to: 2)
        #expect(try await store.steps().isEmpty)
        try await store.take([.project(trip, seq: 3), .step(tickets, in: trip)], from: 2, to: 3)
        #expect(try await store.projects() == ["Trip"])
        #expect(try await store.steps() == ["Tickets"])
    }

    @Test func `R2 a row deleted and recreated below a deleted parent is sent as a delete`() async throws {
        try await store.take([.project(trip), .project(tour), .step(tickets, in: tour)], to: 1)
        let (tickets, trip) = (tickets, trip)
        try await store.write { db in
            try tickets.delete(db)
            try Step(id: tickets.id, text: "Anew", project: trip.id).insert(db)
        }
        try await store.take([.gone("project", trip.id)], from: 1, to: 2)
        #expect(try await store.steps().isEmpty)
        let push = try #require(try await store.nextPush(PushLimit())).push
        #expect(push.rows.map(\.id) == [tickets.wireID])
        guard case .delete(let tombstone)? = push.rows.first?.change else {
            Issue.record("the user's delete is not sent")
            return
        }
        #expect(tombstone.generation == 2)
    }

    @Test func `R2 R4 a received delete also deletes unsent children, which are journaled`() async throws {
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        let (visa, trip) = (Step(text: "Visa", project: trip.id), trip)
        try await store.write { db in
            try visa.insert(db)
            try db.execute(sql: "UPDATE step SET text = 'Mine' WHERE text = 'Tickets'")
        }
        try await store.take([.gone("step", tickets.id), .gone("project", trip.id)], from: 1, to: 2)
        #expect(try await store.steps().isEmpty)
        #expect(try await store.pendingCount() == 0)
        let journal = try await store.read { try String.fetchAll($0, sql: "SELECT mine FROM optimist_journal") }
        #expect(journal.count == 2)
        #expect(journal.contains { $0.contains("Visa") } && journal.contains { $0.contains("Mine") })
        #expect(try await store.entry(visa) == nil)
    }

    @Test func `R2 R4 a row that only an unsent edit moved below a deleted row moves back`()
        async throws
    {
        try await store.take([.project(trip), .project(tour), .step(tickets, in: trip)], to: 1)
        let tour = tour
        try await store.write {
            try $0.execute(sql: "UPDATE step SET project = ?, text = 'Mine'", arguments: [tour.id])
        }
        try await store.take([.gone("project", tour.id)], from: 1, to: 2)
        let step = try #require(try await store.read { try Step.fetchOne($0) })
        #expect(step.project == trip.id)
        #expect(step.text == "Mine")
        #expect(try await store.pendingCount() == 1)
    }

    @Test func `R2 R4 a child that moved away is not deleted with its former parent`() async throws {
        try await store.take([.project(trip), .project(tour), .step(tickets, in: trip)], to: 1)
        try await store.take(
            [.gone("project", trip.id), .step(tickets, seq: 2, in: tour, stamp: 1_790_000_002_000)], from: 1, to: 2)
        #expect(try await store.steps() == ["Tickets"])
    }

    @Test func `R4 a delete waits for children unknown to the server, and is applied with their verdict`()
        async throws
    {
        let desk = try Desk(onDelete: "RESTRICT")
        let store = desk.store
        try await store.take([.project(trip)], to: 1)
        let visa = Step(text: "Visa", project: trip.id)
        try await store.write { try visa.insert($0) }
        try await store.take([.gone("project", trip.id)], from: 1, to: 2)
        #expect(try await store.projects() == ["Trip"])
        #expect(try await store.counts().parked == 1)
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.apply(
            [.rejected(RemotePush.Refusal(code: "invalidProperties", message: "It is gone."))], of: batch)
        #expect(try await store.projects().isEmpty)
        #expect(try await store.counts().parked == 0)
    }
}
