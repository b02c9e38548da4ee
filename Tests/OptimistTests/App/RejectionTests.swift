// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct RejectionTests {
    private let refusal = RemotePush.Refusal(code: "invalidProperties", message: "The title is not allowed.")

    private func next(_ desk: Desk) async throws -> PushBatch {
        try #require(try await desk.store.nextPush(PushLimit()))
    }

    /// Refuses one row of the next push, and with it the rest of its group.
    ///
    /// - Parameter current: The server's versions of the other rows.
    private func refuse(
        _ id: String, on desk: Desk, as refused: RemotePush.Refusal? = nil, current: [String: RowPatch] = [:]
    ) async throws {
        let batch = try await next(desk)
        try await desk.store.apply(
            batch.push.rows.map { row in
                row.id == id
                    ? .rejected(refused ?? refusal) : .groupFailed(by: ["project:\(id)"], current: current[row.id])
            }, of: batch)
    }

    @Test func `V5 a row moved below a refused row is not deleted with its former parent`() async throws {
        let desk = try Desk()
        let (old, new, other) = (Project(title: "Old"), Project(title: "New"), Project(title: "Other"))
        let (moved, deleted) = (Step(text: "Moved"), Step(text: "Deleted"))
        let rows: [RemotePage.Row] = [
            .project(old), .project(other), .step(moved, in: old), .step(deleted, in: old),
        ]
        try await desk.store.take(rows)
        try await desk.store.write { db in
            try new.insert(db)
            try db.execute(sql: "UPDATE step SET project = ? WHERE id = ?", arguments: [new.id, moved.id])
            try db.execute(sql: "DELETE FROM project WHERE id IN (?, ?)", arguments: [old.id, other.id])
        }
        try await refuse(
            new.wireID, on: desk,
            current: [
                old.wireID: RowPatch(generation: 1, values: ["title": "Old"]),
                other.wireID: RowPatch(generation: 1, values: ["title": "Other"]),
                deleted.wireID: RowPatch(
                    generation: 1, values: ["text": "Deleted", "project": .string(old.wireID)]),
            ])
        #expect(try await desk.store.projects() == ["Old"])
        #expect(try await desk.store.steps() == ["Deleted", "Moved"])
        #expect(try await next(desk).push.rows.map(\.id) == [other.wireID], "an unrelated row is sent")
        try await desk.store.pushAccepted(seq: 11)
        let rejection = try #require(try await desk.store.rejections().first)
        #expect(Set(rejection.dependents.map(\.rowID)) == [moved.wireID, old.wireID, deleted.wireID])
        try await desk.store.retry(rejection)
        #expect(try await desk.store.projects() == ["New"])
        #expect(try await desk.store.steps() == ["Moved"])
    }

    @Test func `V2 V5 retrying an edit of a row that has since been deleted recreates the entire row`() async throws {
        let desk = try Desk()
        let (old, new, step) = (Project(title: "Old"), Project(title: "New"), Step(text: "Tickets"))
        try await desk.store.take([.project(old), .step(step, in: old)])
        try await desk.store.write { db in
            try new.insert(db)
            try db.execute(sql: "UPDATE step SET project = ?", arguments: [new.id])
        }
        try await refuse(new.wireID, on: desk)
        try await desk.store.take(
            [.gone("step", step.id, seq: 12), .gone("project", old.id, seq: 12)], from: 9, to: 12)
        #expect(try await desk.store.steps().isEmpty)
        let rejection = try #require(try await desk.store.rejections().first)
        #expect(rejection.dependents.first?.theirs?["text"] == "Tickets")
        try await desk.store.retry(rejection)
        #expect(try await desk.store.steps() == ["Tickets"])
    }

    @Test func `V5 refusing a moved row also undoes the deletion of its former parent`() async throws {
        let desk = try Desk()
        let (old, new, step) = (Project(title: "Old"), Project(title: "New"), Step(text: "Tickets"))
        try await desk.store.take([.project(old), .project(new), .step(step, in: old)])
        try await desk.store.write { db in
            try db.execute(sql: "UPDATE step SET project = ?, text = 'Refused'", arguments: [new.id])
            try db.execute(sql: "DELETE FROM project WHERE id = ?", arguments: [old.id])
        }
        let current = RowPatch(generation: 1, values: ["text": "Tickets", "project": .string(old.wireID)])
        try await refuse(
            step.wireID, on: desk, as: RemotePush.Refusal(code: "invalidProperties", message: "No.", current: current),
            current: [old.wireID: RowPatch(generation: 1, values: ["title": "Old"])])
        #expect(try await desk.store.steps() == ["Tickets"])
        #expect(try await desk.store.projects() == ["New", "Old"])
        #expect(try await desk.store.counts().pending == 0)
        try await desk.store.retry(try #require(try await desk.store.rejections().first))
        #expect(try await desk.store.steps() == ["Refused"])
        #expect(try await desk.store.projects() == ["New"])
    }

    @Test func `V2 V5 rows taken back with a row stay in its rejection when it is refused again`() async throws {
        let desk = try Desk()
        let (trip, step) = (Project(title: "Trip"), Step(text: "Tickets", project: nil))
        for isFirst in [true, false] {
            try await desk.store.write { db in
                try trip.insert(db)
                if isFirst { try Step(id: step.id, text: step.text, project: trip.id).insert(db) }
            }
            try await refuse(trip.wireID, on: desk)
        }
        #expect(try await desk.store.rejections().map { $0.dependents.map(\.rowID) } == [[step.wireID]])
        try await desk.store.retry(try #require(try await desk.store.rejections().first))
        #expect(try await desk.store.steps() == ["Tickets"])
    }

    @Test func `Q4 V2 repeating a refused write reports that it is refused again`() async throws {
        let desk = try Desk()
        let trip = Project(title: "Trip")
        for _ in 1...2 {
            let commit = try await desk.store.writeWithReceipt { try trip.insert($0) }
            try await refuse(trip.wireID, on: desk)
            #expect(try await desk.store.rejections(awaiting: commit.receipt).map(\.rowID) == [trip.wireID])
        }
        #expect(try await desk.store.rejections().count == 1, "it is the same rejection")
        #expect(try await desk.store.counts().rejected == 1)
    }

    @Test func `Q4 a rejection that keeps an earlier version of a row does not cover later writes to it`()
        async throws
    {
        let desk = try Desk()
        let (trip, tour, step) = (Project(title: "Trip"), Project(title: "Tour"), Step(text: "Tickets"))
        try await desk.store.write { db in
            try trip.insert(db)
            try Step(id: step.id, text: step.text, project: trip.id).insert(db)
        }
        try await refuse(trip.wireID, on: desk)
        let commit = try await desk.store.writeWithReceipt { db in
            try tour.insert(db)
            try Step(id: step.id, text: step.text, project: tour.id).insert(db)
        }
        try await desk.store.pushAccepted(seq: 11)
        try await desk.store.write { try trip.insert($0) }
        try await refuse(trip.wireID, on: desk)
        #expect(try await desk.store.rejections().map(\.dependents.count) == [1])
        #expect(try await desk.store.rejections(awaiting: commit.receipt).isEmpty)
    }

    @Test(arguments: ["CASCADE", "RESTRICT", "NO ACTION", "SET NULL"])
    func `V5 a refused deletion can be retried together with the rows deleted with it`(onDelete: String) async throws {
        let desk = try Desk(onDelete: onDelete)
        let (trip, step) = (Project(title: "Trip"), Step(text: "Tickets"))
        try await desk.store.take([.project(trip), .step(step, in: trip)])
        try await desk.store.write { db in
            try db.execute(sql: "DELETE FROM step")
            try db.execute(sql: "DELETE FROM project")
        }
        let current = RowPatch(generation: 1, values: ["title": "Trip"])
        try await refuse(
            trip.wireID, on: desk, as: RemotePush.Refusal(code: "forbidden", message: "Not yours.", current: current),
            current: [
                step.wireID: RowPatch(
                    generation: 1, values: ["text": "Tickets", "project": .string(trip.wireID)])
            ])
        #expect(try await desk.store.steps() == ["Tickets"])
        try await desk.store.retry(try #require(try await desk.store.rejections().first))
        #expect(try await desk.store.projects().isEmpty)
        #expect(try await desk.store.steps().isEmpty)
        #expect(try await desk.store.counts().pending == 2)
    }

    @Test func `V2 a retry with an unknown column is refused, and the rejection stays`() async throws {
        let desk = try Desk()
        let trip = Project(title: "Trip")
        try await desk.store.write { try trip.insert($0) }
        try await refuse(trip.wireID, on: desk)
        let rejection = try #require(try await desk.store.rejections().first)
        for edits: JSONObject in [["titel": "Tour"], ["title": "Tour", "titel": "Tour"], ["id": .string(trip.wireID)]] {
            let error = await #expect(throws: OptimistError.self) {
                try await desk.store.retry(rejection, with: edits)
            }
            #expect(error?.code == .unknownColumn)
            #expect(try await desk.store.rejections() == [rejection])
        }
        #expect(try await desk.store.projects() == [])
        try await desk.store.retry(rejection, with: ["title": "Tour"])
        #expect(try await desk.store.projects() == ["Tour"])
        #expect(try await desk.store.rejections() == [])
    }

    @Test func `V2 the refusal of a unique value names all columns and the row that has the value`() async throws {
        let desk = try Desk()
        let (trip, winner) = (Project(title: "Trip"), UUID().uuidString.lowercased())
        let error = SetError("uniqueViolation", "Taken.", properties: ["title", "part"], winner: winner)
        let verdict = AnswerClass.verdict(error, on: .create(RowPatch(generation: 1, values: [:])), at: 1)
        guard case .rejected(let refusal) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        for _ in 1...2 {
            try await desk.store.write { try trip.insert($0) }
            try await refuse(trip.wireID, on: desk, as: refusal)
            let rejection = try #require(try await desk.store.rejections().first)
            #expect(rejection.columns == ["title", "part"])
            #expect(rejection.column == "title")
            #expect(rejection.conflictingRowID == winner)
        }
        try await desk.store.write { db in
            let table = try Int64.fetchOne(db, sql: "SELECT number FROM optimist_table WHERE name = 'project'") ?? 0
            try RejectionTable(db).rename("part", to: "whole", ofTable: table)
        }
        #expect(try await desk.store.rejections().first?.columns == ["title", "whole"])
        try await desk.store.discard(try #require(try await desk.store.rejections().first))
        #expect(try await desk.store.rejections().isEmpty)
    }

    @Test func `a refusal of one column becomes a rejection with that column and without a winner`() async throws {
        let desk = try Desk()
        let trip = Project(title: "Trip")
        try await desk.store.write { try trip.insert($0) }
        try await refuse(
            trip.wireID, on: desk, as: RemotePush.Refusal(code: "invalidProperties", column: "title", message: "No."))
        let rejection = try #require(try await desk.store.rejections().first)
        #expect(rejection.columns == ["title"])
        #expect(rejection.conflictingRowID == nil)
    }
}
