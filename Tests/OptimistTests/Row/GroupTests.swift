// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct GroupTests {
    let desk: Desk
    var store: Store { desk.store }

    init() throws { desk = try Desk() }

    private let trip = Project(title: "Trip")
    private func step(_ text: String, in project: Project? = nil) -> Step { Step(text: text, project: project?.id) }

    private func next(_ limit: Int = 1000) async throws -> PushBatch {
        try #require(try await store.nextPush(PushLimit(rows: limit)))
    }

    private func sizes(_ batch: PushBatch) -> [Int] { batch.push.groups.map(\.count) }

    // MARK: - S2

    @Test func `S2 the rows of one transaction form one group`() async throws {
        let (trip, tickets) = (trip, step("Tickets", in: trip))
        try await store.write { db in
            try trip.insert(db)
            try tickets.insert(db)
        }
        try await store.write { db in try Step(text: "Alone").insert(db) }
        try await store.write { db in for text in ["A", "B", "C"] { try Step(text: text).insert(db) } }
        let batch = try await next()
        #expect(batch.push.rows.count == 6)
        #expect(sizes(batch) == [2, 3])
        #expect(batch.unitCount == 3)
    }

    @Test func `S2 groups that share a row become one, whichever row is touched first`() async throws {
        let (a, b, c) = (step("A"), step("B"), step("C"))
        for row in [a, b, c] { try await store.write { try row.insert($0) } }
        #expect(sizes(try await next()).isEmpty)
        try await store.write { try $0.execute(sql: "UPDATE step SET text = text || '!' WHERE text IN ('A', 'C')") }
        let batch = try await next()
        #expect(sizes(batch) == [2])
        #expect(batch.unitCount == 2)
        try await store.write { try $0.execute(sql: "UPDATE step SET text = text || '?' WHERE text IN ('B', 'C!')") }
        #expect(sizes(try await next()) == [3])
        try await store.apply(batch.sent.map { _ in .accepted(seq: 1) }, of: try await next())
    }

    @Test func `S2 two groups stay joined when the one between them is answered`() async throws {
        for text in ["A", "B", "C"] { try await store.write { try Step(text: text).insert($0) } }
        let first = try await next(1)
        try await store.write { try $0.execute(sql: "UPDATE step SET text = text || '!'") }
        try await store.apply([.accepted(seq: 1)], of: first)
        try await store.write { try $0.execute(sql: "UPDATE step SET text = 'A' WHERE text = 'A!'") }
        try await store.take([.step(step("D"))])
        #expect(sizes(try await next()) == [2])
    }

    @Test func `S2 a new row joins the group of a pending row that its transaction touches`() async throws {
        let (trip, tickets) = (trip, step("Tickets", in: trip))
        try await store.write { try trip.insert($0) }
        try await store.write { db in
            try db.execute(sql: "UPDATE project SET title = 'Journey'")
            try tickets.insert(db)
        }
        #expect(sizes(try await next()) == [2])
        #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_join") } == 0)
    }

    @Test func `S2 a waiting row holds back all of its group, and other groups are sent`() async throws {
        try await store.write { db in for text in ["A", "B"] { try Step(text: text).insert(db) } }
        let batch = try await next()
        try await store.apply(
            [.retry(after: .seconds(60)), .groupFailed(by: [batch.push.rows[0].name], current: nil)], of: batch)
        try await store.write { try Step(text: "C").insert($0) }
        #expect(try await next().push.rows.count == 1)
        #expect(try await store.pushOutlook().isSendable)
    }

    @Test func `S2 a push ends between groups and always contains the first one`() async throws {
        for _ in 0..<3 {
            try await store.write { db in for text in ["A", "B", "C"] { try Step(text: text).insert(db) } }
        }
        #expect(sizes(try await next(7)) == [3, 3])
        #expect(sizes(try await next(2)) == [3])
    }

    @Test func `S2 a group over the limit is sent row by row, parents first and deletions last`() async throws {
        let projects = (1...40).map { Project(title: "\($0)") }
        try await store.write { db in
            for project in projects {
                try project.insert(db)
                for number in 1...30 { try Step(text: "\(number)", project: project.id).insert(db) }
            }
        }
        let batch = try await next()
        #expect(batch.push.rows.count == 1000)
        #expect(batch.push.groups.isEmpty)
        try await store.apply(batch.sent.map { _ in .accepted(seq: 1) }, of: batch)
        let rest = try await next()
        #expect(rest.push.rows.count == 240)
        try await store.apply(rest.sent.map { _ in .accepted(seq: 2) }, of: rest)
        try await store.write { try $0.execute(sql: "DELETE FROM project") }
        let deletes = try await next()
        #expect(deletes.push.rows.allSatisfy { $0.table == "step" })
    }

    @Test func `S2 S8 a waiting row in an oversized group holds up neither its group nor later groups`()
        async throws
    {
        try await store.write { db in for number in 1...1_001 { try Step(text: "\(number)").insert(db) } }
        try await store.write { try Step(text: "After").insert($0) }
        func postpone(_ condition: String) async throws {
            try await store.apply { db in
                try db.execute(sql: "UPDATE optimist_edit SET due = 1790000060000 WHERE \(condition)")
            }
        }
        try await postpone("place = (SELECT min(place) FROM optimist_edit)")
        #expect(try await next().push.rows.count == 1_000)
        try await postpone("grp = (SELECT min(grp) FROM optimist_edit)")
        #expect(try await next().push.rows.count == 1)
    }

    @Test func `S2 an oversized group sends a new parent before an older row that moved below it`() async throws {
        let (old, trip) = (step("Old"), trip)
        try await store.take([.step(old)])
        try await store.write { db in
            try db.execute(sql: "UPDATE step SET text = 'Older'")
            for index in 0..<1_001 { try Step(text: "\(index)").insert(db) }
            try trip.insert(db)
            try db.execute(sql: "UPDATE step SET project = ?", arguments: [trip.id])
        }
        let batch = try await next(10)
        #expect(batch.push.rows.map(\.table) == ["project"] + Array(repeating: "step", count: 9))
        #expect(batch.push.rows.map(\.id).prefix(2) == [trip.wireID, old.wireID])
    }

    @Test func `S8 rows with nothing to send do not hold up later rows`() async throws {
        for text in ["A", "B", "C", "D"] { try await store.write { try Step(text: text).insert($0) } }
        try await store.apply { db in
            try db.execute(sql: "DELETE FROM step WHERE text < 'D'")
            // Rows adopted before ids were checked look like this.
            try db.execute(
                sql: "UPDATE optimist_edit SET id = x'01' WHERE grp = (SELECT min(grp) FROM optimist_edit)")
        }
        #expect(try await next(1).push.rows.count == 1)
        #expect(try await store.counts().pending == 2, "the row with the invalid id stays pending")
    }

    @Test func `S2 groups that block each other are united`() async throws {
        let (house, garden) = (Project(title: "House"), Project(title: "Garden"))
        let (roof, pond) = (Project(title: "Roof", part: house.id), Project(title: "Pond"))
        let alone = step("Alone")
        try await store.write { db in for row in [house, garden] { try row.insert(db) } }
        try await store.write { db in for row in [roof, pond] { try row.insert(db) } }
        try await store.write { db in
            try db.execute(sql: "UPDATE project SET part = ? WHERE id = ?", arguments: [pond.id, garden.id])
        }
        try await store.write { try alone.insert($0) }
        let batch = try await next()
        #expect(sizes(batch) == [2, 2])
        let owners = [garden.wireID: pond, roof.wireID: house]
        try await store.apply(
            batch.push.rows.map { row in
                if row.table == "step" { return .retry(after: nil) }
                return owners[row.id].map { .blocked(by: "project:\($0.wireID)") } ?? .groupFailed(by: [], current: nil)
            }, of: batch)
        let again = try await next()
        #expect(sizes(again) == [4])
        #expect(again.push.rows.count == 4, "all rows are sent at once; rows that wait for another reason still wait")
    }

    @Test func `S2 settled groups leave no bookkeeping behind`() async throws {
        let (a, b) = (step("A"), step("B"))
        for row in [a, b] { try await store.write { try row.insert($0) } }
        try await store.write(allOrNothing: true) { try $0.execute(sql: "UPDATE step SET text = text || '!'") }
        let batch = try await next()
        #expect(sizes(batch) == [2])
        try await store.apply(batch.sent.map { _ in .accepted(seq: 1) }, of: batch)
        for table in ["optimist_join", "optimist_whole"] {
            #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") } == 0)
        }
    }

    @Test func `S2 joins of rows deleted before they were sent are removed with the next page`() async throws {
        for row in [step("A"), step("B")] { try await store.write { try row.insert($0) } }
        try await store.write { try $0.execute(sql: "UPDATE step SET text = text || '!'") }
        try await store.write { try $0.execute(sql: "DELETE FROM step") }
        #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_join") } == 1)
        try await store.take([])
        #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_join") } == 0)
    }

    @Test func `S9 halving never splits a group`() async throws {
        try await store.write { db in for text in ["A", "B", "C"] { try Step(text: text).insert(db) } }
        let batch = try await next(1)
        #expect(sizes(batch) == [3])
        #expect(batch.unitCount == 1)
        try await store.hold(batch)
        #expect(try await store.nextPush(PushLimit()) == nil)
        #expect(try await store.pushOutlook().nextDue != nil)
    }

    // MARK: - V5

    private let refusal = RemotePush.Refusal(code: "invalidProperties", message: "The title is not allowed.")

    private func refused(_ batch: PushBatch, _ table: String, current: RowPatch? = nil) -> [RemotePush.Verdict] {
        batch.push.rows.map { row in
            row.table == table
                ? .rejected(RemotePush.Refusal(code: refusal.code, message: refusal.message, current: current))
                : .groupFailed(by: ["project:\(trip.wireID)"], current: nil)
        }
    }

    @Test func `V5 a refused row and its pending dependents are one rejection, and the other rows are sent again`()
        async throws
    {
        let (trip, tickets, other) = (trip, step("Tickets", in: trip), step("Other"))
        try await store.write { db in
            try trip.insert(db)
            try tickets.insert(db)
            try other.insert(db)
        }
        let batch = try await next()
        try await store.apply(refused(batch, "project"), of: batch)
        #expect(try await store.projects().isEmpty)
        #expect(try await store.steps() == ["Other"])
        let rejection = try #require(try await store.rejections().first)
        #expect(rejection.dependents.map(\.rowID) == [tickets.wireID])
        #expect(try await store.counts().rejected == 1)
        #expect(try await next().push.rows.map(\.id) == [other.wireID])
        try await store.retry(rejection, with: ["title": "Journey"])
        #expect(try await store.projects() == ["Journey"])
        #expect(try await store.steps() == ["Other", "Tickets"])
        #expect(try await store.rejections().isEmpty)
    }

    @Test func `V5 an edit that moved a row below a refused row is undone`() async throws {
        let (trip, tickets) = (trip, step("Tickets"))
        try await store.write { try tickets.insert($0) }
        try await store.pushAccepted(seq: 1)
        try await store.write { db in
            try trip.insert(db)
            try db.execute(sql: "UPDATE step SET project = ?, text = 'Moved'", arguments: [trip.id])
        }
        let batch = try await next()
        try await store.apply(refused(batch, "project"), of: batch)
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.pendingCount() == 0)
        try await store.retry(try #require(try await store.rejections().first))
        #expect(try await store.steps() == ["Moved"])
    }

    @Test func `V5 a refused delete restores the rows that were deleted with it`() async throws {
        let (trip, tickets) = (trip, step("Tickets", in: trip))
        try await store.write { db in
            try trip.insert(db)
            try tickets.insert(db)
        }
        try await store.pushAccepted(seq: 1)
        try await store.write { try $0.execute(sql: "DELETE FROM project") }
        let batch = try await next()
        #expect(sizes(batch) == [2])
        let verdicts: [RemotePush.Verdict] = batch.push.rows.map { row in
            row.table == "project"
                ? .rejected(
                    RemotePush.Refusal(
                        code: "forbidden", message: "Not yours.",
                        current: RowPatch(generation: 1, values: ["title": "Trip"])))
                : .groupFailed(
                    by: ["project:\(trip.wireID)"],
                    current: RowPatch(
                        generation: 1, values: ["text": "Tickets", "project": .string(trip.wireID)]))
        }
        try await store.apply(verdicts, of: batch)
        #expect(try await store.projects() == ["Trip"])
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.pendingCount() == 0)
        try await store.retry(try #require(try await store.rejections().first))
        #expect(try await store.projects().isEmpty)
        #expect(try await store.steps().isEmpty)
    }

    @Test func `V5 an all-or-nothing group is refused as a whole`() async throws {
        let (trip, other) = (trip, step("Other"))
        try await store.write(allOrNothing: true) { db in
            try trip.insert(db)
            try other.insert(db)
        }
        let batch = try await next()
        try await store.apply(refused(batch, "project"), of: batch)
        #expect(try await store.steps().isEmpty)
        #expect(try await store.rejections().first?.dependents.count == 1)
        #expect(try await store.pendingCount() == 0)
    }

    @Test func `V5 a group that failed without a row at fault waits before it is sent again`() async throws {
        try await store.write { db in for text in ["A", "B"] { try Step(text: text).insert(db) } }
        let batch = try await next()
        try await store.apply(batch.sent.map { _ in .groupFailed(by: [], current: nil) }, of: batch)
        #expect(try await store.nextPush(PushLimit()) == nil)
        #expect(try await store.pendingCount() == 2)
    }

    @Test func `V2 a refused exchange of unique values can be retried`() async throws {
        let (trip, tour) = (trip, Project(title: "Tour"))
        try await store.take([.project(trip), .project(tour)])
        try await store.write(allOrNothing: true) { db in
            try db.execute(sql: "UPDATE project SET title = NULL WHERE title = 'Trip'")
            try db.execute(sql: "UPDATE project SET title = 'Trip' WHERE title = 'Tour'")
            try db.execute(sql: "UPDATE project SET title = 'Tour' WHERE title IS NULL")
        }
        let batch = try await next()
        #expect(sizes(batch) == [2])
        try await store.apply([.rejected(refusal), .groupFailed(by: [], current: nil)], of: batch)
        func titles() async throws -> [UUID: String?] {
            let projects = try await store.read { try Project.fetchAll($0) }
            return Dictionary(uniqueKeysWithValues: projects.map { ($0.id, $0.title) })
        }
        #expect(try await titles() == [trip.id: "Trip", tour.id: "Tour"])
        try await store.retry(try #require(try await store.rejections().first))
        #expect(try await titles() == [trip.id: "Tour", tour.id: "Trip"])
        #expect(try await store.rejections().isEmpty)
        #expect(try await next().push.rows.count == 2)
    }

    @Test func `V2 a row that a RESTRICT reference holds leaves one rejection, however often it is refused`()
        async throws
    {
        let trip = trip
        try await store.write { db in
            try db.execute(sql: "CREATE TABLE pin(project REFERENCES project(id) ON DELETE RESTRICT)")
            try trip.insert(db)
            try db.execute(sql: "INSERT INTO pin VALUES (?)", arguments: [trip.id])
        }
        for _ in 0..<3 {
            try await store.apply([.rejected(refusal)], of: try await next())
            #expect(try await store.nextPush(PushLimit()) == nil, "the row is held for a day")
            try await store.apply { try $0.execute(sql: "UPDATE optimist_edit SET due = NULL") }
        }
        #expect(try await store.rejections().count == 1)
        #expect(try await store.counts().pending == 1)
    }

    @Test func `V4 a refusal of an entire group that cannot be stored leaves no trace`() async throws {
        try await store.write { db in for text in ["A", "B"] { try Step(text: text).insert(db) } }
        let batch = try await next()
        try await store.pool.writeWithoutTransaction { db in
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages)")
        }
        let refusal = RemotePush.Refusal(code: "tooLarge", message: String(repeating: "no ", count: 100_000))
        await #expect(throws: DatabaseError.self) { try await store.refuse(refusal, batch) }
        #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_whole") } == 0)
    }
}
