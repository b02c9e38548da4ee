// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct DiscardTests {
    @Test func `L2 discarding returns a row moved below a new row to its place on the server`() async throws {
        let desk = try Desk()
        let (home, step) = (Project(title: "home"), Step(text: "sweep"))
        try await desk.store.take([.project(home), .step(step, in: home)])
        try await desk.store.write { db in
            let new = Project(title: "new")
            try new.insert(db)
            try db.execute(sql: "UPDATE step SET project = ?", arguments: [new.id])
        }
        #expect(try await desk.store.discardPending() == 2)
        #expect(try await desk.store.read { try Step.fetchOne($0)?.project } == home.id)
        #expect(try await desk.store.projects() == ["home"])
        #expect(try await desk.store.counts().pending == 0)
    }

    @Test func `L2 discarding gives back exchanged unique values`() async throws {
        let desk = try Desk()
        let (home, work) = (Project(title: "home"), Project(title: "work"))
        try await desk.store.take([.project(home), .project(work)])
        try await desk.store.write { db in
            try db.execute(sql: "UPDATE project SET title = NULL WHERE title = 'home'")
            try db.execute(sql: "UPDATE project SET title = 'home' WHERE title = 'work'")
            try Project(title: "work").insert(db)
        }
        #expect(try await desk.store.discardPending() == 3)
        let titles = try await desk.store.read { try Project.fetchAll($0) }
        #expect(
            Dictionary(uniqueKeysWithValues: titles.map { ($0.id, $0.title) }) == [home.id: "home", work.id: "work"])
    }

    @Test(arguments: ["CASCADE", "RESTRICT", "SET NULL"])
    func `L2 discarding the deletion of a parent receives the parent again`(onDelete: String) async throws {
        let desk = try Desk(onDelete: onDelete)
        let (home, step) = (Project(title: "home"), Step(text: "sweep"))
        try await desk.store.take([.project(home), .step(step, in: home)])
        try await desk.store.write { db in
            let new = Project(title: "new")
            try new.insert(db)
            try db.execute(sql: "UPDATE step SET project = ?", arguments: [new.id])
            try db.execute(sql: "DELETE FROM project WHERE title = 'home'")
        }
        #expect(try await desk.store.discardPending() == 3)
        #expect(try await desk.store.counts().pending == 0)
        #expect(try await desk.store.tableProgress().filter(\.awaitsSnapshot).map(\.table) == ["project"])
        try await desk.store.take([.project(home)], of: ["project"])
        #expect(try await desk.store.projects() == ["home"])
        #expect(try await desk.store.read { try Step.fetchOne($0)?.project } == home.id)
    }

    @Test func `L2 discarding removes new rows that refer to each other`() async throws {
        let desk = try Desk()
        try await desk.store.write { db in
            let (trip, tour) = (Project(title: "Trip"), Project(title: "Tour"))
            try trip.insert(db)
            try tour.insert(db)
            try db.execute(sql: "UPDATE project SET part = ? WHERE id = ?", arguments: [tour.id, trip.id])
            try db.execute(sql: "UPDATE project SET part = ? WHERE id = ?", arguments: [trip.id, tour.id])
        }
        #expect(try await desk.store.discardPending() == 2)
        #expect(try await desk.store.projects().isEmpty)
        #expect(try await desk.store.counts().pending == 0)
    }

    @Test func `L2 discarding a row that was deleted and recreated receives it again`() async throws {
        let desk = try Desk()
        let (home, step) = (Project(title: "home"), Step(text: "sweep"))
        try await desk.store.take([.project(home), .step(step, in: home)])
        try await desk.store.write { db in
            try db.execute(sql: "DELETE FROM step; DELETE FROM project")
            try Project(id: home.id, title: "again").insert(db)
        }
        try await desk.store.take([.step(step, seq: 2, in: home, stamp: 1_790_000_003_000)], from: 9, to: 10)
        #expect(try await desk.store.discardPending() == 2)
        #expect(try await desk.store.counts().pending == 0)
        try await desk.store.take([.project(home), .step(step, seq: 2, in: home)])
        #expect(try await desk.store.projects() == ["home"])
        #expect(try await desk.store.read { try Step.fetchOne($0)?.project } == home.id)
    }
}
