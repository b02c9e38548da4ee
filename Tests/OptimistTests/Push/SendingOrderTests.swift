// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist

private struct Album: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "album"
    var id = UUID()
    var cover: UUID?
}

private struct Picture: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "picture"
    var id = UUID()
    var album: UUID?

    var wireID: String { id.uuidString.lowercased() }
}

@Suite(.timeLimit(.minutes(20)))
struct SendingOrderTests {
    let desk: Desk
    var store: Store { desk.store }

    init() throws { desk = try Desk() }

    private func next(_ limit: Int = 1000) async throws -> PushBatch? {
        try await store.nextPush(PushLimit(rows: limit))
    }

    private func postpone(_ ref: String) async throws {
        try await store.apply { db in
            try db.execute(sql: "UPDATE optimist_edit SET due = 1790000060000 WHERE \(ref)")
        }
    }

    // MARK: - Waiting groups

    @Test func `S8 united groups that wait do not hold up later groups`() async throws {
        let (a, b) = (Step(text: "A"), Step(text: "B"))
        for row in [a, b] { try await store.write { try row.insert($0) } }
        try await store.write { try $0.execute(sql: "UPDATE step SET text = text || '!'") }
        try await postpone("place = (SELECT min(place) FROM optimist_edit)")
        try await store.write { try Step(text: "C").insert($0) }
        #expect(try await store.pushOutlook().isSendable)
        #expect(try await next(1)?.push.rows.count == 1)
        #expect(try await next()?.push.rows.count == 1)
    }

    @Test func `S8 many united groups that wait are each examined once`() async throws {
        for number in 1...300 { try await store.write { try Step(text: "\(number)").insert($0) } }
        try await store.write { try $0.execute(sql: "UPDATE step SET text = text || '!'") }
        try await postpone("place = (SELECT place FROM optimist_edit ORDER BY place LIMIT 1 OFFSET 149)")
        #expect(try await !store.pushOutlook().isSendable)
        try await store.write { try Step(text: "Behind").insert($0) }
        #expect(try await next(10)?.push.rows.count == 1)
    }

    // MARK: - Large groups

    private static func albums(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("album") { db in
            try db.execute(
                sql: """
                    CREATE TABLE album(id BLOB PRIMARY KEY NOT NULL, cover BLOB REFERENCES picture(id));
                    CREATE TABLE picture(id BLOB PRIMARY KEY NOT NULL, album BLOB REFERENCES album(id));
                    """)
        }
    }

    @Test func `S2 rows of a large group that refer to each other in a cycle are sent together`() async throws {
        let device = try Device([Album.self, Picture.self], migrate: Self.albums)
        let albums = (1...600).map { _ in (album: Album(), cover: Picture(), other: Picture()) }
        try await device.store.write { db in
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            for (album, cover, other) in albums {
                try Album(id: album.id, cover: cover.id).insert(db)
                for picture in [cover, other] { try Picture(id: picture.id, album: album.id).insert(db) }
            }
        }
        var (arrived, references): (Set<String>, Int) = ([], 0)
        for seq in 1...4 {
            guard let batch = try await device.next() else { break }
            let (rows, before) = (batch.push.rows, arrived)
            #expect(rows.count <= 1_000)
            arrived.formUnion(rows.map(\.id))
            for group in batch.push.groups {
                #expect(
                    group.count == 2 || arrived.count == 1_800, "the remaining rows are few enough for one group")
                #expect(Set(rows[group].map(\.table)) == ["album", "picture"])
            }
            for row in rows {
                let patch = try #require(row.change.created)
                for case .string(let owner) in patch.values.map(\.value) {
                    references += 1
                    #expect(arrived.contains(owner), "the referenced row is sent with it or was sent before")
                }
            }
            #expect(arrived.count > before.count)
            try await device.store.apply(rows.map { _ in .accepted(seq: Int64(seq)) }, of: batch)
        }
        #expect(arrived.count == 1_800)
        #expect(references > 0)
        #expect(try await device.store.pendingCount() == 0)
    }

    @Test func `S2 M2 a large group deletes a row only after its children have moved away`() async throws {
        let (old, new) = (Project(title: "Old"), Project(title: "New"))
        let steps = (1...1_001).map { Step(text: "\($0)", project: old.id) }
        try await store.take([.project(old), .project(new)] + steps.map { .step($0, in: old) })
        try await store.write { db in
            try db.execute(sql: "UPDATE step SET project = ?", arguments: [new.id])
            try db.execute(sql: "DELETE FROM project WHERE id = ?", arguments: [old.id])
        }
        let waiting = try #require(steps.last)
        let batch = try #require(try await next(2_000))
        #expect(batch.push.rows.count == 1_001)
        try await store.apply(
            batch.push.rows.map { $0.id == waiting.wireID ? .retry(after: .seconds(60)) : .accepted(seq: 10) },
            of: batch)
        #expect(try await next() == nil, "the deletion waits too")
        try await store.apply { try $0.execute(sql: "UPDATE optimist_edit SET due = NULL") }
        let rest = try #require(try await next())
        #expect(Set(rest.push.rows.map(\.id)) == [waiting.wireID, old.wireID])
        #expect(rest.push.groups == [0..<2], "the remaining rows are few enough for one group")
    }

    @Test func `S2 S8 a waiting cycle in a large group holds up no other row`() async throws {
        let device = try Device([Album.self, Picture.self], migrate: Self.albums)
        let (album, cover) = (Album(), Picture())
        try await device.store.write { db in
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            try Album(id: album.id, cover: cover.id).insert(db)
            try Picture(id: cover.id, album: album.id).insert(db)
            for _ in 1...1_001 { try Picture().insert(db) }
        }
        try await device.store.apply { db in
            try db.execute(sql: "UPDATE optimist_edit SET due = 1790000060000 WHERE id = ?", arguments: [album.id])
        }
        #expect(try await device.store.pushOutlook().isSendable)
        let rows = try #require(try await device.next()).push.rows
        #expect(rows.count == 999)
        #expect(rows.allSatisfy { $0.table == "picture" && $0.id != cover.wireID })
    }

    @Test func `S2 a group of too many bytes sends parents first and cycles together`() async throws {
        let text = String(repeating: "text ", count: 40_000)
        let parts = (1...30).map { Project(title: "\($0) " + text) }
        let (whole, twin) = (Project(title: "Whole"), Project(title: "Twin"))
        try await store.write { db in
            for project in parts + [whole, twin] { try project.insert(db) }
            try db.execute(sql: "UPDATE project SET part = ?", arguments: [whole.id])
            try db.execute(sql: "UPDATE project SET part = ? WHERE id = ?", arguments: [twin.id, whole.id])
        }
        let batch = try #require(try await next())
        #expect(batch.push.rows.count < 32)
        #expect(batch.push.groups == [0..<2])
        #expect(Set(batch.push.rows[..<2].map(\.id)) == [whole.wireID, twin.wireID])
        try await store.apply(batch.push.rows.map { _ in .accepted(seq: 11) }, of: batch)
        try await store.pushAccepted(seq: 12)
        #expect(try await store.pendingCount() == 0)
    }

    // MARK: - Later lives

    /// A deleted project begins a new life, and a step is then written into it.
    private func beginAnew() async throws -> (project: Project, step: Step) {
        let trip = Project(title: "Trip")
        try await store.take([.project(trip)])
        try await store.write { _ = try trip.delete($0) }
        try await store.pushAccepted(seq: 10)
        try await store.write { try trip.insert($0) }
        let step = Step(text: "Tickets", project: trip.id)
        try await store.write { try step.insert($0) }
        return (trip, step)
    }

    @Test func `M2 V5 a row waits for the later life of its parent`() async throws {
        let (trip, step) = try await beginAnew()
        #expect(try await next()?.push.groups.isEmpty == true, "the project and the step are in two groups")
        let first = try #require(try await next(1))
        #expect(first.push.rows.map(\.id) == [trip.wireID])
        try await store.apply([.retry(after: .seconds(60))], of: first)
        #expect(try await next() == nil)
        let waiting = try await store.pushOutlook()
        #expect(!waiting.isSendable)
        #expect(waiting.nextDue == .seconds(60), "the step is not due before its parent")
        #expect(try await store.entry(step)?.local?.blocked == "project:\(trip.wireID)")
        try await store.apply { try $0.execute(sql: "UPDATE optimist_edit SET due = NULL") }
        let both = try #require(try await next())
        #expect(both.push.rows.map(\.id) == [trip.wireID, step.wireID])
        try await store.apply(both.push.rows.map { _ in .accepted(seq: 11) }, of: both)
        try await store.write { try Step(text: "Hotel", project: trip.id).insert($0) }
        #expect(try await next()?.push.rows.count == 1)
    }

    @Test func `S8 a row waits at most a quarter of an hour for its parent`() async throws {
        let (trip, _) = try await beginAnew()
        // As if a clock had been four days ahead; the network is also too expensive for the table.
        try await store.apply { db in
            try db.execute(
                sql: "UPDATE optimist_edit SET due = 1790000000000 + 345600000 WHERE id = ?", arguments: [trip.id])
        }
        #expect(try await store.nextPush(PushLimit(), without: ["project"]) == nil)
        let outlook = try await store.pushOutlook(without: ["project"])
        #expect(!outlook.isSendable)
        #expect(outlook.nextDue == .seconds(900))
    }

    @Test func `S8 a row waits for a parent whose id is invalid`() async throws {
        let trip = Project(title: "Trip")
        try await store.write { try trip.insert($0) }
        let step = Step(text: "Tickets", project: trip.id)
        try await store.write { try step.insert($0) }
        try await store.apply { db in
            // Rows adopted before ids were checked look like this.
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            for sql in [
                "UPDATE optimist_edit SET id = 'none', generation = 3 WHERE tbl = (SELECT number FROM optimist_table "
                    + "WHERE name = 'project')",
                "UPDATE project SET id = 'none'", "UPDATE step SET project = 'none'",
            ] {
                try db.execute(sql: sql)
            }
        }
        #expect(try await next() == nil)
        #expect(try await !store.pushOutlook().isSendable)
    }

    @Test func `M2 an older row that moves below a later life is sent after it`() async throws {
        let trip = Project(title: "Trip")
        try await store.take([.project(trip)])
        try await store.write { _ = try trip.delete($0) }
        try await store.pushAccepted(seq: 10)
        let step = Step(text: "Tickets")
        try await store.write { try step.insert($0) }
        try await store.write { try trip.insert($0) }
        try await store.write { try $0.execute(sql: "UPDATE step SET project = ?", arguments: [trip.id]) }
        // The push has room for one row.
        let first = try #require(try await next(1))
        #expect(first.push.rows.map(\.id) == [trip.wireID])
        try await store.apply([.accepted(seq: 11)], of: first)
        let second = try #require(try await next(1))
        #expect(second.push.rows.map(\.id) == [step.wireID], "the step no longer waits")
    }

    @Test func `M2 S2 groups that wait for later lives in each other are sent together`() async throws {
        let (a, b) = (Project(title: "A"), Project(title: "B"))
        let (one, two) = (Step(text: "One"), Step(text: "Two"))
        try await store.take([.project(a), .project(b)])
        try await store.write { try $0.execute(sql: "DELETE FROM project") }
        try await store.pushAccepted(seq: 10)
        for (step, project) in [(one, a), (two, b)] {
            try await store.write { db in
                try project.insert(db)
                try step.insert(db)
            }
        }
        for (step, project) in [(one, b), (two, a)] {
            try await store.write { db in
                try db.execute(sql: "UPDATE step SET project = ? WHERE id = ?", arguments: [project.id, step.id])
            }
        }
        #expect(try await next() == nil)
        #expect(try await store.pushOutlook().isSendable)
        let batch = try #require(try await next())
        #expect(batch.push.groups == [0..<4])
    }

    @Test func `M2 L3 a restored row waits for the later life of its parent, which is restored too`() async throws {
        let trip = Project(title: "Trip")
        let step = Step(text: "Tickets")
        try await store.take([.step(step, seq: 4)], to: 4)
        try await store.take([.project(trip, seq: 5, stamp: 1_790_000_001_000, generation: 3)], from: 4, to: 5)
        try await store.write { try $0.execute(sql: "UPDATE step SET project = ?", arguments: [trip.id]) }
        try await store.pushAccepted(seq: 6)
        try await store.rewind(["step", "project"], at: "e1.6", to: [("e1", 0), ("e2", 3)].map(RemoteEpoch.init))
        #expect(try await store.counts().pending == 2)
        var sent: [String] = []
        for _ in 1...4 {
            guard let batch = try await next(1) else { continue }
            sent += batch.push.rows.map(\.table)
            try await store.apply(batch.push.rows.map { _ in .accepted(seq: 11) }, of: batch)
        }
        #expect(sent == ["project", "step"])
    }

    @Test func `M2 a row of a large group waits for the later life of its parent`() async throws {
        let trip = Project(title: "Trip")
        try await store.take([.project(trip)])
        try await store.write { _ = try trip.delete($0) }
        try await store.pushAccepted(seq: 10)
        try await store.write { db in
            try trip.insert(db)
            for number in 1...1_001 { try Step(text: "\(number)", project: trip.id).insert(db) }
        }
        let first = try #require(try await next(1))
        #expect(first.push.rows.map(\.id) == [trip.wireID])
        try await store.apply([.retry(after: .seconds(60))], of: first)
        #expect(try await next() == nil, "a push reads no more rows than fit in it")
        #expect(try await store.pushOutlook().isSendable)
        #expect(try await next() == nil)
        #expect(try await store.pushOutlook().nextDue == .seconds(60))
        try await store.apply { try $0.execute(sql: "UPDATE optimist_edit SET due = NULL") }
        #expect(try await next()?.push.rows.count == 1_000)
    }
}
