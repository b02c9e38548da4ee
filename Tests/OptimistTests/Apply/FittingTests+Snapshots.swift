// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

extension FittingTests {
    enum Obstacle: CaseIterable, Sendable { case uniqueValue, trigger, missingParent }

    private func project(_ number: Int, seq: Int64 = 5, part: Project? = nil, generation: Int = 1) -> RemotePage.Row {
        .project(Project(id: id(number), title: "Project \(number)"), seq: seq, part: part, generation: generation)
    }

    /// Applies a complete snapshot as of the fifth transaction.
    private func takeSnapshot(_ rows: [RemotePage.Row], of table: String = "project") async throws {
        try await store.startResync(of: [table])
        let asked = RemoteSnapshot.Request(table: table, at: nil, after: nil, limit: 100)
        #expect(try await store.apply(RemoteSnapshot(at: "e1.5", rows: rows, next: nil), of: asked))
        #expect(try await store.tableProgress().first { $0.table == table }?.cursor == "e1.5")
    }

    private func failInserts(of title: String) async throws {
        try await store.write {
            try $0.execute(
                sql: """
                    CREATE TRIGGER app BEFORE INSERT ON project WHEN NEW.title = '\(title)'
                    BEGIN SELECT RAISE(ABORT, 'not now'); END
                    """)
        }
    }

    @Test(arguments: Obstacle.allCases, [0, 5, 25, 59])
    func `R4 R6 in a part of a snapshot, only the row that does not fit is parked`(obstacle: Obstacle, place: Int)
        async throws
    {
        switch obstacle {
        case .uniqueValue: try await store.write { try Project(title: "Project \(place)").insert($0) }
        case .trigger: try await failInserts(of: "Project \(place)")
        case .missingParent: break
        }
        try await takeSnapshot(
            (0..<60).map { project($0, part: obstacle == .missingParent && $0 == place ? trip : nil) })
        #expect(try await store.counts().parked == 1)
        let (ids, known) = try await store.read { db in
            (
                try UUID.fetchSet(db, sql: "SELECT id FROM project"),
                try UUID.fetchAll(db, sql: "SELECT id FROM optimist_remote")
            )
        }
        #expect(Set(known) == Set((0..<60).map(id)).subtracting([id(place)]))
        #expect(known.count == 59)
        #expect(ids.isSuperset(of: known))
        #expect(ids.count == (obstacle == .uniqueValue ? 60 : 59))
    }

    /// The sixth row ends a life with an unsent edit, the eighth is one that the user has recreated, and the eleventh
    /// does not fit.
    @Test func `R6 M7 rows that precede a misfit in a part of a snapshot take effect once`() async throws {
        let anew = Project(id: id(7), title: "Anew")
        try await store.take([project(5, seq: 1), project(7, seq: 1)], to: 1)
        try await store.take([.gone("project", id(7))], from: 1, to: 2)
        try await store.write { db in
            try db.execute(sql: "UPDATE project SET title = 'Mine'")
            try anew.insert(db)
        }
        try await failInserts(of: "Project 10")
        try await takeSnapshot((0..<30).map { project($0, generation: $0 == 5 ? 3 : 1) })
        let (titles, journal) = try await store.read { db in
            (
                try String.fetchSet(db, sql: "SELECT title FROM project"),
                try String.fetchAll(db, sql: "SELECT mine FROM optimist_journal")
            )
        }
        #expect(titles == Set((0..<30).filter { $0 != 7 && $0 != 10 }.map { "Project \($0)" } + ["Anew"]))
        #expect(journal.count == 1)
        #expect(journal.first?.contains("Mine") == true)
        #expect(try await store.counts().parked == 2)
    }

    @Test func `L1 R6 unknown columns are kept for every row of a part, whether it fits or not`() async throws {
        try await failInserts(of: "Project 10")
        let rows = (0..<30).map { number -> RemotePage.Row in
            var row = project(number)
            if case .row(var patch) = row.content, number % 10 == 0 {
                patch.values.append("colour", "red")
                row.content = .row(patch)
            }
            return row
        }
        try await takeSnapshot(rows)
        let unknown = try await store.read { try UUID.fetchSet($0, sql: "SELECT id FROM optimist_unknown") }
        #expect(unknown == [id(0), id(20)])
        try await store.write { try $0.execute(sql: "DROP TRIGGER app") }
        try await store.take([project(30)], from: 5, to: 6, of: ["project"])
        #expect(try await store.counts().parked == 0)
        #expect(
            try await store.read { try UUID.fetchSet($0, sql: "SELECT id FROM optimist_unknown") }
                == [id(0), id(10), id(20)])
    }

    @Test func `R6 while a write waits, a part of a snapshot ends before the batch with a misfit`()
        async throws
    {
        let rows = (0..<60).map { project($0) }
        try await failInserts(of: "Project 25")
        var count = 0
        let store = store
        for expected in [20, 60] {
            let rest = Array(rows[count...])
            count += try await store.apply {
                try store.receive(rest, PageContext(hasMore: true), until: { true }, in: $0)
            }
            #expect(count == expected)
            let parked = try await store.counts().parked
            #expect(try await store.projects().count == count - parked)
            #expect(parked == (count > 25 ? 1 : 0))
        }
    }

    @Test(arguments: [false, true])
    func `R1 R6 if a part contains a row twice, the later version wins`(
        isSnapshot: Bool
    ) async throws {
        let later = Project(id: id(2), title: "Later")
        let rows: [RemotePage.Row] = [
            project(1), .project(later, seq: 5, stamp: 1_790_000_002_000), project(2, seq: 4), project(3),
        ]
        if isSnapshot { try await takeSnapshot(rows) } else { try await store.take(rows, to: 5) }
        #expect(try await store.projects() == ["Later", "Project 1", "Project 3"])
        #expect(try await store.counts().parked == 0)
    }

    @Test(arguments: [false, true])
    func `L4 S4 a waiting deletion from an answer stays when an older snapshot ends`(
        wasKnown: Bool
    ) async throws {
        let (store, trip, visa) = (try Desk(onDelete: "SET NULL").store, trip, visa)
        if wasKnown {
            try await store.take([.project(trip)], to: 1)
            try await store.startResync(of: ["project", "step"])
        }
        try await store.write { db in
            if wasKnown {
                try db.execute(sql: "UPDATE project SET title = 'Mine'")
            } else {
                try trip.insert(db)
            }
            try Step(id: visa.id, text: "Visa", project: trip.id).insert(db)
        }
        let first = try #require(try await store.nextPush(PushLimit()))
        try await store.apply([.gone(seq: 5), .retry(after: .zero)], of: first)
        let second = try #require(try await store.nextPush(PushLimit()))
        for table in ["project", "step"] {
            let asked = RemoteSnapshot.Request(table: table, at: table == "step" ? "e1.4" : nil, limit: 100)
            #expect(try await store.apply(RemoteSnapshot(at: "e1.4", rows: [], next: nil), of: asked))
        }
        try await store.take([], from: 4, to: 5)
        try await store.settleUnseen(.remove)
        #expect(try await store.projects() == ["Trip"], "a step below is not answered yet")
        #expect(try await store.counts().parked == 1)
        try await store.apply([.merged(seq: 6, RowPatch(values: ["project": .null]))], of: second)
        try await store.take([], from: 5, to: 6)
        #expect(try await store.projects().isEmpty)
        #expect(try await store.steps() == ["Visa"])
        #expect(try await store.counts().parked == 0)
        let life = "SELECT generation FROM optimist_remote JOIN optimist_table ON number = tbl WHERE name = 'project'"
        #expect(try await store.read { try Int.fetchOne($0, sql: life) } == 2, "the server's answer is remembered")
    }

    @Test func `L4 R2 a deletion from an answer waits for the next page even if a resync ends first`()
        async throws
    {
        let (store, trip, tour) = (store, trip, tour)
        try await store.take([.project(Project(title: "Old"))], to: 1)
        try await store.startResync(of: ["project", "step"])
        for table in ["project", "step"] {
            let rows: [RemotePage.Row] =
                table == "step" ? [.step(tickets, in: trip)] : [.project(trip), .project(tour)]
            let asked = RemoteSnapshot.Request(table: table, at: table == "step" ? "e1.4" : nil, limit: 100)
            #expect(try await store.apply(RemoteSnapshot(at: "e1.4", rows: rows, next: nil), of: asked))
        }
        try await store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine' WHERE title = 'Trip'") }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.take([], from: 4, to: 4)
        try await store.apply([.gone(seq: 6)], of: batch)
        try await store.settleUnseen(.remove)
        #expect(try await store.steps() == ["Tickets"])
        try await store.take(
            [
                .gone("project", trip.id, seq: 6),
                .step(tickets, seq: 5, in: tour, stamp: 1_790_000_002_000),
            ], from: 4, to: 6)
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.projects() == ["Tour"])
    }

    @Test(arguments: [6, 7])
    func `L4 R1 a snapshot newer than the last answer wins, even with older clocks`(
        head: Int64
    ) async throws {
        let (store, trip, tour) = (store, trip, tour)
        try await store.take([.project(tour), .project(trip, part: tour, stamp: 1_790_000_002_000)], to: 1)
        try await store.write { try $0.execute(sql: "UPDATE project SET title = 'Mine' WHERE title = 'Trip'") }
        let batch = try #require(try await store.nextPush(PushLimit()))
        // The answer names the account's seventh transaction, which did not change the row.
        try await store.apply([.accepted(seq: 7)], of: batch)
        try await store.startResync(of: ["project"])
        var page = RemoteSnapshot(
            at: "e1.5", rows: [.project(tour), .project(trip, seq: 5, stamp: 1_790_000_000_000)], next: nil)
        page.head = "e1.\(head)"
        let asked = RemoteSnapshot.Request(table: "project", limit: 100)
        #expect(try await store.apply(page, of: asked))
        let part = try await store.read { try Project.fetchOne($0, key: trip.id)?.part }
        #expect(part == (head == 7 ? nil : tour.id), "a page from before the answer is older than the answer")
    }

    @Test func `R6 S9 a snapshot with deleted rows is refused`() async throws {
        let gone = RemotePage.Row.gone("project", id(2))
        await #expect(throws: RemoteFailure.self) { try await takeSnapshot([project(1), gone]) }
        #expect(try await store.projects().isEmpty)
    }
}
