// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

/// Replacements whose new life the server refuses.
extension TakingBackTests {
    @Test func `M4 a write after a refusal is later than the values that the refusal brought`() async throws {
        let (desk, step) = (try Desk(), Step(text: "Tickets"))
        try await desk.store.take([.step(step)], to: 1)
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'Flights'") }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        let later = RemotePage.Row.step(Step(id: step.id, text: "Boats"), seq: 2, stamp: 1_790_000_050_000)
        let current = try #require(later.patch)
        let refusal = RemotePush.Refusal(code: "forbidden", message: "no", current: current)
        try await desk.store.apply([.rejected(refusal)], of: batch)
        #expect(try await desk.store.steps() == ["Boats"])
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'Trains'") }
        guard case .update(let patch)? = try await desk.store.nextPush(PushLimit())?.push.rows.first?.change else {
            Issue.record("no update")
            return
        }
        let known = try #require(current.clocks?["text"])
        #expect(try #require(patch.clocks?["text"]) > known)
    }

    @Test func `S4 M4 an edit made during a push stays pending after the server corrected a clock`() async throws {
        let (desk, step) = (try Desk(), Step(text: "Tickets"))
        try await desk.store.take([.step(step)], to: 1)
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'one'") }
        let first = try #require(try await desk.store.nextPush(PushLimit()))
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'two'") }
        let reined = WriteClock(stamp: Stamp(milliseconds: 1_790_000_030_000), device: first.push.device)
        let won = RowPatch(clocks: ColumnClocks(common: nil, exceptions: ["text": reined]), values: ["text": "one"])
        try await desk.store.apply([.merged(seq: 2, won)], of: first)
        let second = try #require(try await desk.store.nextPush(PushLimit()))
        try await desk.store.write { try $0.execute(sql: "UPDATE step SET text = 'three'") }
        try await desk.store.apply([.accepted(seq: 3)], of: second)
        #expect(try await desk.store.counts().pending == 1)
    }

    /// - Parameter isKnown: Whether the answer includes the server's version of the moved row.
    @Test(arguments: [false, true])
    func `S1 V5 a replaced row that moved below a refused row is restored`(isKnown: Bool)
        async throws
    {
        let desk = try Desk()
        let (trip, step) = (Project(title: "Trip"), Step(text: "Tickets"))
        let rows: [RemotePage.Row] = [.project(trip), .step(step, in: trip)]
        try await desk.store.take(rows)
        try await desk.store.write { db in
            let tour = Project(title: "Tour")
            try tour.insert(db)
            try db.execute(
                sql: "INSERT OR REPLACE INTO step(id, text, project) VALUES (?, 'Maps', ?)",
                arguments: [step.id, tour.id])
        }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        let current = RowPatch(
            generation: 1, seq: 1, values: ["text": "Tickets", "project": .string(trip.wireID)])
        let needsPages = try await desk.store.apply(
            batch.sent.map { sent in
                sent.generation == 1
                    ? .rejected(tooLarge) : .groupFailed(by: ["project:x"], current: isKnown ? current : nil)
            }, of: batch)
        #expect(needsPages == !isKnown)
        if !isKnown { try await desk.store.take([rows[1]], of: ["step"]) }
        #expect(try await desk.store.counts().pending == 0)
        #expect(try await desk.store.projects() == ["Trip"])
        #expect(try await desk.store.read { try Step.fetchAll($0).map(\.text) } == ["Tickets"])
        #expect(try await desk.store.read { try Step.fetchAll($0).map(\.project) } == [trip.id])
        #expect(try await desk.store.rejections().first?.dependents.first?.mine["text"] == "Maps")
    }

    /// SQLite deletes the rows below a row that it replaces.
    @Test(arguments: [false, true])
    func `S1 V5 a refused all-or-nothing replacement is undone together with its cascade`(
        isKnown: Bool
    ) async throws {
        let desk = try Desk()
        let (trip, step) = (Project(title: "Trip"), Step(text: "Tickets"))
        let rows: [RemotePage.Row] = [.project(trip), .step(step, in: trip)]
        try await desk.store.take(rows)
        try await desk.store.write(allOrNothing: true) { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO project(id, title) VALUES (?, 'Tour')", arguments: [trip.id])
            try Project(title: "Refused").insert(db)
        }
        let batch = try #require(try await desk.store.nextPush(PushLimit()))
        #expect(batch.sent.map(\.generation).sorted() == [1, 2, 3])
        let replaced = RowPatch(generation: 1, seq: 1, values: ["title": "Trip"])
        let deleted = RowPatch(
            generation: 1, seq: 1, values: ["text": "Tickets", "project": .string(trip.wireID)])
        try await desk.store.apply(
            batch.sent.map { sent in
                switch sent.generation {
                case 1: .rejected(tooLarge)
                case 2: .groupFailed(by: ["project:x"], current: deleted)
                default: .groupFailed(by: ["project:x"], current: isKnown ? replaced : nil)
                }
            }, of: batch)
        #expect(try await desk.store.counts().pending == 0)
        #expect(try await desk.store.counts().parked == (isKnown ? 0 : 1))
        if !isKnown { try await desk.store.take([rows[0]], of: ["project"]) }
        #expect(try await desk.store.projects() == ["Trip"])
        #expect(try await desk.store.steps() == ["Tickets"])
        let counts = try await desk.store.counts()
        #expect((counts.pending, counts.parked) == (0, 0))
    }

    @Test func `V5 S2 a row moved by a replacement stays when the deletion in its group is refused`()
        async throws
    {
        let store = try Desk().store
        let (trip, tour, step) = (Project(title: "Trip"), Project(title: "Tour"), Step(text: "Tickets"))
        try await store.take([.project(trip), .project(tour), .step(step, in: trip)])
        try await store.write { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO step(id, text, project) VALUES (?, 'Maps', ?)",
                arguments: [step.id, tour.id])
            try db.execute(sql: "DELETE FROM project WHERE title = 'Trip'")
        }
        let batch = try #require(try await store.nextPush(PushLimit()))
        let (kept, moved) = (
            RowPatch(generation: 1, seq: 1, values: ["title": "Trip"]),
            RowPatch(generation: 1, seq: 1, values: ["text": "Tickets", "project": .string(trip.wireID)])
        )
        try await store.apply(
            batch.sent.map { sent in
                sent.kind == .delete
                    ? .rejected(RemotePush.Refusal(code: "forbidden", message: "no", current: kept))
                    : .groupFailed(by: ["project:\(trip.wireID)"], current: moved)
            }, of: batch)
        #expect(try await store.projects() == ["Tour", "Trip"])
        #expect(try await store.read { try Step.fetchAll($0).map(\.project) } == [tour.id])
        #expect(try #require(try await store.nextPush(PushLimit())).sent.map(\.kind) == [.create])
    }

    @Test func `V5 a refused replacement restores the rows that SQLite deleted below it`() async throws {
        let store = try Desk().store
        let (trip, step) = (Project(title: "Trip"), Step(text: "Tickets"))
        try await store.take([.project(trip), .step(step, in: trip)])
        try await store.write {
            try $0.execute(sql: "INSERT OR REPLACE INTO project(id, title) VALUES (?, 'Tour')", arguments: [trip.id])
        }
        let batch = try #require(try await store.nextPush(PushLimit()))
        let (former, deleted) = (
            RowPatch(generation: 1, seq: 1, values: ["title": "Trip"]),
            RowPatch(generation: 1, seq: 1, values: ["text": "Tickets", "project": .string(trip.wireID)])
        )
        try await store.apply(
            batch.sent.map { sent in
                sent.kind == .create
                    ? .rejected(RemotePush.Refusal(code: "forbidden", message: "no", current: former))
                    : .groupFailed(by: ["project:\(trip.wireID)"], current: deleted)
            }, of: batch)
        #expect(try await store.projects() == ["Trip"])
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.counts().pending == 0)
        #expect(try await store.rejections().map(\.dependents.count) == [1])
    }

    @Test func `V5 a later row below a refused all-or-nothing row is refused with it`() async throws {
        let store = try Desk().store
        let trip = Project(title: "Trip")
        try await store.write(allOrNothing: true) { try trip.insert($0) }
        try await store.write { try Step(text: "Tickets", project: trip.id).insert($0) }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.apply(
            batch.push.rows.map {
                $0.table == "project" ? .rejected(tooLarge) : .blocked(by: "project:\(trip.wireID)")
            },
            of: batch)
        #expect(try await store.counts().pending == 0)
        #expect(try await store.rejections().map { $0.dependents.map(\.table) } == [["step"]])
    }

    /// Another project is a part of this one and prevents its deletion.
    @Test func `V1 a refused replacement that cannot be removed stays until the row is received again`() async throws {
        let store = try Desk().store
        let (trip, day) = (Project(title: "Trip"), Project(title: "Day"))
        let rows: [RemotePage.Row] = [.project(trip), .project(day, part: trip)]
        try await store.take(rows)
        try await store.write {
            try $0.execute(sql: "INSERT OR REPLACE INTO project(id, title) VALUES (?, 'Tour')", arguments: [trip.id])
        }
        let batch = try #require(try await store.nextPush(PushLimit()))
        #expect(try await store.refuse(tooLarge, batch), "pages are needed")
        #expect(try await store.counts().pending == 0)
        #expect(try await store.projects() == ["Day", "Tour"])
        try await store.take(rows, of: ["project"])
        #expect(try await store.projects() == ["Day", "Trip"])
        #expect(try await store.counts().parked == 0)
    }

    /// The step was written in a separate transaction, so it is undone with the row above it, not with the refused row.
    @Test func `V5 R2 a replacement below a refused row is undone without deleting the row`() async throws {
        let store = try Desk().store
        let (trip, step) = (Project(title: "Trip"), Step(text: "Tickets"))
        let rows: [RemotePage.Row] = [.project(trip), .step(step)]
        try await store.take(rows)
        try await store.write(allOrNothing: true) { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO project(id, title) VALUES (?, 'Tour')", arguments: [trip.id])
            try Project(title: "Refused").insert(db)
        }
        try await store.write { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO step(id, text, project) VALUES (?, 'Maps', ?)",
                arguments: [step.id, trip.id])
        }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.apply(
            batch.push.rows.map { row in
                switch row.table {
                case "step": .blocked(by: "project:\(trip.wireID)")
                default: row.id == trip.wireID ? .groupFailed(by: [], current: nil) : .rejected(tooLarge)
                }
            }, of: batch)
        #expect(try await store.counts().pending == 0)
        try await store.take(rows)
        #expect(try await store.projects() == ["Trip"])
        #expect(try await store.steps() == ["Tickets"])
        #expect(try await store.conflicts().map { $0.mine["text"] } == ["Maps"])
    }

    /// Two berths exchange their numbers, and the server refuses the exchange together with the next life of their
    /// pier.
    private func refusedExchange() async throws -> (device: Device, pier: Pier, berths: [Berth]) {
        let device = try Device([Pier.self, Berth.self], migrate: Berth.migrate)
        let pier = Pier()
        let berths = (1...2).map { Berth(pier: pier.id, number: $0, line: "line \($0)") }
        let rows = [pier.row] + berths.map(\.row)
        try await device.apply(RemotePage(from: "m.0", cursor: "m.1", hasMore: false, rows: rows))
        try await device.store.write(allOrNothing: true) { db in
            try db.execute(sql: "UPDATE berth SET pier = NULL, number = -number")
            try db.execute(sql: "INSERT OR REPLACE INTO pier(id) VALUES (?)", arguments: [pier.id])
            try db.execute(sql: "UPDATE berth SET pier = ?, number = 3 + number", arguments: [pier.id])
        }
        let batch = try #require(try await device.next())
        #expect(batch.sent.map(\.generation).sorted() == [1, 1, 3])
        try await device.store.refuse(tooLarge, batch)
        #expect(try await device.store.counts().parked == 2)
        return (device, pier, berths)
    }

    @Test func `M6 V5 rows that wait for a refetched parent return with the server's values`() async throws {
        let (device, pier, berths) = try await refusedExchange()
        #expect(
            try await device.store.apply(
                RemotePage(from: "m.0", cursor: "m.1", hasMore: false, rows: [pier.row]), to: ["pier"],
                initialCursor: "m.0"))
        let back = try await device.store.read { try Berth.order(Column("number")).fetchAll($0) }
        #expect(back.map(\.line) == ["line 1", "line 2"])
        #expect(back.map(\.id) == berths.map(\.id))
    }

    @Test func `V2 retrying an edit while its row waits applies it to the server's version`()
        async throws
    {
        let (device, _, berths) = try await refusedExchange()
        try await device.store.retry(try #require(try await device.store.rejections().first))
        let now = try await device.store.read { try Berth.order(Column("number")).fetchAll($0) }
        #expect(now.map(\.line) == ["line 2", "line 1"])
        #expect(now.map(\.id) == berths.reversed().map(\.id))
    }

    @Test func `V5 replacements that are refused because they are too large together are undone with the next pages`()
        async throws
    {
        let backend = FakeBackend()
        let reader = try Reader(backend)
        backend.write("shelf", (1...3).map(id), ["name": "Travel"])
        try await reader.sync()
        backend.settings.withLock { $0.maxRows = 2 }
        try await reader.write("INSERT OR REPLACE INTO shelf(id, name) SELECT id, 'Mine' FROM shelf")
        try await reader.sync()
        #expect(backend.rows("shelf").count == 3)
        #expect(try await reader.isEqualToBackend())
        #expect(try await reader.store.rejections().map(\.dependents.count) == [2])
    }

    /// The refusal of the deletion does not contain the row. The row arrives while its next life is unsent.
    @Test func `V2 R1 a received life waits below an unsent life and is shown when the unsent life is deleted`()
        async throws
    {
        let store = try Desk().store
        let (trip, tour, step) = (Project(title: "Trip"), Project(title: "Tour"), Step(text: "Tickets"))
        let rows: [RemotePage.Row] = [.project(trip), .project(tour), .step(step, in: trip)]
        try await store.take(rows)
        try await store.write { try $0.execute(sql: "DELETE FROM step") }
        try await store.apply([.rejected(tooLarge)], of: try #require(try await store.nextPush(PushLimit())))
        try await store.write { try Step(id: step.id, text: "Maps", project: tour.id).insert($0) }
        try await store.take([rows[2]], of: ["step"])
        #expect(try await store.steps() == ["Maps"])
        #expect(try await store.counts().parked == 1)
        try await store.take([.gone("project", tour.id, seq: 10)], from: 9, to: 10)
        #expect(try await store.projects() == ["Trip"])
        #expect(try await store.steps() == ["Tickets"])
        let counts = try await store.counts()
        #expect((counts.pending, counts.parked) == (0, 0))
    }

    @Test func `V2 retrying a refused deletion sends it again, even if the creation was never answered`()
        async throws
    {
        let store = try Desk().store
        try await store.write { try Project(title: "Trip").insert($0) }
        _ = try await store.nextPush(PushLimit())
        try await store.write { try $0.execute(sql: "DELETE FROM project") }
        try await store.apply([.rejected(tooLarge)], of: try #require(try await store.nextPush(PushLimit())))
        #expect(try await store.counts().pending == 0)
        try await store.retry(try #require(try await store.rejections().first))
        #expect(try #require(try await store.nextPush(PushLimit())).sent.map(\.generation) == [2])
    }

    @Test func `M6 a row listed twice among rows that exchange unique values gets its value back`() async throws {
        let store = try Desk().store
        let projects = ["Tour", "Trip"].map { Project(title: $0) }
        try await store.take(projects.map { .project($0) })
        let table = try #require(store.layouts.first { $0.name == "project" }).number
        let refs = projects.map { RowRef(table: table, id: $0.id.databaseValue) }
        try await store.write { db in
            let vacancy = try Vacancy(of: refs + refs, in: AppTables(store.layouts, db), db)
            #expect(try Project.filter(["Tour", "Trip"].contains(Column("title"))).fetchCount(db) == 0)
            try vacancy.restore()
        }
        #expect(try await store.projects() == ["Tour", "Trip"])
    }
}
