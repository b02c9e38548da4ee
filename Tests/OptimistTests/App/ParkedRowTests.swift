// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct ParkedRowTests {
    @Test func `Q3 each waiting row has a reason`() async throws {
        let (store, trip, tour) = (try Desk().store, Project(title: "Trip"), Project(title: "Tour"))
        let (tickets, forbidden) = (Step(text: "Tickets"), Step(text: "Forbidden"))
        try await store.take([.project(tour)], to: 1)
        try await store.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER app BEFORE INSERT ON step WHEN NEW.text = 'Forbidden'
                    BEGIN SELECT RAISE(ABORT, 'not here'); END;
                    DELETE FROM project;
                    """)
            try Project(title: "Train").insert(db)
        }
        let train = Project(title: "Train")
        try await store.take(
            [
                .project(tour, seq: 2), .step(tickets, seq: 3, in: trip), .step(forbidden, seq: 4),
                .project(train, seq: 5),
            ], from: 1, to: 5)
        let waiting = try await store.parkedRows()
        #expect(waiting.map(\.rowID) == [tour.wireID, tickets.wireID, forbidden.wireID, train.wireID])
        #expect(waiting.map(\.table) == ["project", "step", "step", "project"])
        #expect(
            waiting.map(\.reason) == [
                .unsentChange, .missingParent(table: "project", id: trip.wireID), .constraint("not here"),
                .valueTaken("UNIQUE constraint failed: project.title"),
            ])
        #expect(waiting.allSatisfy { !$0.isDeletion })
        #expect(try await store.counts().parked == 4)
        #expect(try await store.parkedRows(limit: 1) == Array(waiting.prefix(1)))
        try await store.take([.project(trip, seq: 6)], from: 5, to: 6)
        #expect(try await store.parkedRows().count == 3, "the parent has arrived")
    }

    @Test func `R4 the reasons of waiting rows are numbers that never change their meaning`() {
        let kinds: [ParkedReason.Kind] = [.constraint, .valueTaken, .deletionTooSoon, .belowUnsent]
        #expect(kinds.map(\.rawValue) == [1, 2, 3, 5])
    }
}
