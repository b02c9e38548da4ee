// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

extension FittingTests {
    @Test func `R4 S8 a waiting deletion does not keep a cycle out`() async throws {
        let desk = try Desk(onDelete: "RESTRICT")
        let store = desk.store
        let fair = Project(title: "Fair")
        try await store.take([.project(fair)], to: 1)
        let visa = Step(text: "Visa", project: fair.id)
        try await store.write { try visa.insert($0) }
        try await store.take([.gone("project", fair.id)], from: 1, to: 2)
        try await store.take([.project(trip, seq: 3, part: tour)], from: 2, to: 3)
        #expect(try await store.counts().parked == 2)
        try await store.take([.project(tour, seq: 4, part: trip)], from: 3, to: 4)
        #expect(try await store.projects() == ["Fair", "Tour", "Trip"])
        #expect(try await store.counts().parked == 1)
    }

    @Test func `R4 a parked cycle is applied once its obstacle is gone`() async throws {
        try await store.write {
            try $0.execute(
                sql: """
                    CREATE TRIGGER app AFTER INSERT ON project WHEN NEW.title = 'Tour'
                    BEGIN SELECT RAISE(ABORT, 'not now'); END
                    """)
        }
        try await store.take([.project(trip, part: tour), .project(tour, part: trip)], to: 1)
        #expect(try await store.counts().parked == 2)
        try await store.write { try $0.execute(sql: "DROP TRIGGER app") }
        try await store.take([.step(tickets, seq: 2)], from: 1, to: 2)
        #expect(try await store.projects() == ["Tour", "Trip"])
        #expect(try await store.counts().parked == 0)
    }

    /// As after a restore of the server: the rows have a later transaction than their deletion.
    @Test func `R2 deleted rows of a cycle do not wait for each other`() async throws {
        let (north, south, hill) = (Station(), Station(), Station())
        let device = try Station.device(next: .cascade, hub: nil)
        try await device.take(
            [north.row(7, next: south), south.row(7, next: north), hill.row(7, next: south)], to: 7)
        try await device.take(
            [.gone("station", north.id, seq: 3), .gone("station", south.id, seq: 4)], from: 7, to: 8)
        #expect(try await device.stations() == 3, "the hill's own row is later than the deletion")
        try await device.take([.gone("station", hill.id, seq: 9)], from: 8, to: 9)
        #expect(try await device.stations() == 0)
        #expect(try await device.store.counts().parked == 0)
    }

    @Test(arguments: [(Reference.Action.setNull, Reference.Action.cascade), (.cascade, .setNull)])
    func `R2 every reference of a row to a deleted row is checked`(
        next: Reference.Action, hub: Reference.Action
    ) async throws {
        let (north, hill) = (Station(), Station())
        let device = try Station.device(next: next, hub: hub)
        try await device.take([north.row(1), hill.row(1, next: north, hub: north)], to: 1)
        try await device.take([.gone("station", north.id)], from: 1, to: 2, hasMore: true)
        #expect(try await device.stations() == 2, "a later page may move the hill")
        try await device.take([hill.row(3, stamp: 3)], from: 2, to: 3)
        #expect(try await device.stations() == 1)
        #expect(try await device.store.counts().parked == 0)
    }

    /// Deleting the north only clears the hill's reference, but deleting the south, which is below the north, deletes
    /// the hill.
    @Test(arguments: [false, true])
    func `R2 a row below two deleted rows is checked below each`(isSwapped: Bool) async throws {
        let (north, south, hill) = (Station(), Station(), Station())
        let device = try Station.device(
            next: isSwapped ? .cascade : .setNull, hub: isSwapped ? .setNull : .cascade)
        func row(_ station: Station, below owner: Station, beside other: Station? = nil) -> RemotePage.Row {
            isSwapped ? station.row(6, next: owner, hub: other) : station.row(6, next: other, hub: owner)
        }
        try await device.take([north.row(6), row(south, below: north), row(hill, below: south, beside: north)], to: 6)
        try await device.take([.gone("station", south.id, seq: 5)], from: 6, to: 7)
        #expect(try await device.stations() == 3, "the hill was written after the south was deleted")
        try await device.take([.gone("station", north.id, seq: 7)], from: 7, to: 8, hasMore: true)
        #expect(try await device.stations() == 3, "a later page may move the hill")
        try await device.take([hill.row(8, stamp: 8)], from: 8, to: 9)
        #expect(try await device.stations() == 1)
        #expect(try await device.store.counts().parked == 0)
    }

    /// The outside row arrives, the row in the cycle no longer refers to it, or the referring row leaves the cycle.
    @Test(arguments: ["comes", "needs it no more", "leaves"])
    func `R4 a cycle waits for the outside row that it refers to`(change: String) async throws {
        let (north, south, line) = (Station(), Station(), Station())
        let device = try Station.device(next: .restrict, hub: .restrict)
        try await device.take([north.row(1, next: south, hub: line), south.row(1, next: north)], to: 1)
        #expect(try await device.store.counts().parked == 2)
        let row =
            switch change {
            case "comes": line.row(2)
            case "leaves": north.row(2)
            default: north.row(2, next: south)
            }
        try await device.take([row], from: 1, to: 2)
        #expect(try await device.store.counts().parked == 0)
        #expect(try await device.stations() == (change == "comes" ? 3 : 2))
    }

    /// The trip is deleted, the tour takes its title, and the tickets move to the tour.
    @Test(arguments: ["RESTRICT", "NO ACTION", "CASCADE", "SET NULL"], [false, true])
    func `M6 R4 a row takes over the unique value and the children of a deleted row`(
        onDelete: String, isBesideMisfit: Bool
    ) async throws {
        let store = try Desk(onDelete: onDelete).store
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        try await store.write {
            try $0.execute(
                sql: """
                    CREATE TRIGGER app BEFORE INSERT ON step WHEN NEW.text = 'Visa'
                    BEGIN SELECT RAISE(ABORT, 'not now'); END
                    """)
        }
        let rows: [RemotePage.Row] = [
            .project(tour, seq: 2, title: "Trip"), .step(tickets, seq: 2, in: tour, stamp: 1_790_000_002_000),
            .gone("project", trip.id),
        ]
        try await store.take(rows + (isBesideMisfit ? [.step(visa, seq: 2)] : []), from: 1, to: 2)
        #expect(try await store.read { try Project.fetchAll($0).map(\.id) } == [tour.id])
        #expect(try await store.projects() == ["Trip"])
        #expect(try await store.read { try Step.fetchAll($0).map(\.project) } == [tour.id])
        #expect(try await store.counts().parked == (isBesideMisfit ? 1 : 0))
    }

    @Test(arguments: ["RESTRICT", "CASCADE"])
    func `M6 R4 a row takes over the unique value of a waiting deletion with the last page`(
        onDelete: String
    ) async throws {
        let store = try Desk(onDelete: onDelete).store
        try await store.take([.project(trip), .step(tickets, in: trip)], to: 1)
        try await store.take(
            [.project(tour, seq: 2, title: "Trip"), .gone("project", trip.id)], from: 1, to: 2, hasMore: true)
        try await store.take([.step(tickets, seq: 3, in: tour, stamp: 1_790_000_002_000)], from: 2, to: 3)
        #expect(try await store.read { try Project.fetchAll($0).map(\.id) } == [tour.id])
        #expect(try await store.read { try Step.fetchAll($0).map(\.project) } == [tour.id])
        #expect(try await store.counts().parked == 0)
    }

    @Test
    func `M6 M7 the journal keeps a deleted row's edit unchanged even if another row takes its unique value`()
        async throws
    {
        let store = try Desk(onDelete: "RESTRICT").store
        let fair = Project(title: "Fair")
        try await store.take([.project(trip), .project(fair), .step(tickets, in: trip)], to: 1)
        try await store.write { [trip] in
            try $0.execute(sql: "UPDATE project SET part = ? WHERE id = ?", arguments: [fair.id, trip.id])
        }
        let batch = try #require(try await store.nextPush(PushLimit()))
        try await store.take(
            [
                .project(tour, seq: 2, title: "Trip"), .step(tickets, seq: 2, in: tour, stamp: 1_790_000_002_000),
                .gone("project", trip.id),
            ], from: 1, to: 2)
        try await store.apply([.gone(seq: 2)], of: batch)
        try await store.take([], from: 2, to: 3)
        let whole = try await store.read { try String.fetchAll($0, sql: "SELECT whole FROM optimist_journal") }
        #expect(whole.count == 1)
        #expect(whole.allSatisfy { $0.contains("\"Trip\"") })
        #expect(try await store.projects() == ["Fair", "Trip"])
        #expect(try await store.counts().parked == 0)
    }

    @Test
    func
        `M6 M7 the journal keeps an edit that a next life ends, even if another row takes its unique value`()
        async throws
    {
        let store = desk.store
        try await store.take([.project(trip), .project(tour)], to: 1)
        try await store.write { [trip] in
            try $0.execute(sql: "UPDATE project SET title = 'Mine' WHERE id = ?", arguments: [trip.id])
        }
        try await store.take(
            [
                .project(trip, seq: 2, title: "Tour", stamp: 1_790_000_002_000, generation: 3),
                .project(tour, seq: 2, title: "Mine", stamp: 1_790_000_002_000),
            ], from: 1, to: 2)
        #expect(try await store.read { try Project.fetchOne($0, key: trip.id)?.title } == "Tour")
        let conflict = try #require(try await store.conflicts().first)
        #expect(conflict.mine == ["title": "Mine"])
        let whole = try await store.read { try String.fetchAll($0, sql: "SELECT whole FROM optimist_journal") }
        #expect(whole.allSatisfy { $0.contains("\"Mine\"") })
        #expect(try await store.counts().parked == 0)
    }

    /// Deleting a box deletes the box inside it, whose next life has not arrived yet, so the innermost box waits for
    /// that life. The innermost box has just exchanged its code with another box, and its name was emptied for the
    /// exchange.
    @Test func `M6 R4 a row that waits for its parent's next life keeps a unique value emptied for an exchange`()
        async throws
    {
        let device = try Device([Box.self], migrate: Box.migrate)
        let (gone, again, inner, other, shelf) = (Box(), Box(), Box(), Box(), Box())
        try await device.take(
            [
                gone.row(1, [:]), again.row(1, ["owner": .string(gone.wireID)]),
                inner.row(1, ["owner": .string(again.wireID), "name": "inner", "code": "1"]),
                other.row(1, ["beside": .string(gone.wireID), "name": "other", "code": "2"]),
            ], at: 1)
        try await device.take([again.row(2, generation: 3, ["owner": .string(shelf.wireID)])], at: 2)
        #expect(try await device.store.counts().parked == 1)
        try await device.take(
            [
                inner.row(
                    3, later: ["code"], ["owner": .string(again.wireID), "name": "inner", "code": "2"]),
                other.row(3, later: ["code", "beside"], ["beside": .null, "name": "other", "code": "1"]),
                .gone("box", gone.id, seq: 3),
            ], at: 3)
        #expect(try await device.rows("box").values.map { $0["name"] } == ["other"])
        #expect(try await device.store.counts().parked == 2)
        try await device.take([shelf.row(4, [:])], at: 4)
        #expect(Set(try await device.rows("box").values.compactMap { $0["name"] }) == ["inner", "other"])
        #expect(try await device.store.counts().parked == 0)
    }

    @Test func `R4 a cycle is applied, however many other rows do not fit`() async throws {
        let store = desk.store
        try await store.write {
            try $0.execute(
                sql: """
                    CREATE TRIGGER app BEFORE INSERT ON step WHEN NEW.text LIKE 'Visa%'
                    BEGIN SELECT RAISE(ABORT, 'not now'); END
                    """)
        }
        let misfits = (0...1_000).map { RemotePage.Row.step(Step(text: "Visa \($0)")) }
        try await store.take(misfits + [.project(trip, part: tour)], to: 1)
        #expect(try await store.counts().parked == 1_002)
        try await store.take([.project(tour, part: trip)], from: 1, to: 2)
        #expect(try await store.projects() == ["Tour", "Trip"])
        #expect(try await store.counts().parked == 1_001)
    }

    @Test func `R4 cycles are found and sorted so that each follows the cycles it needs`() {
        #expect(Cycles.inOrder(needs: []) == [])
        #expect(Cycles.inOrder(needs: [[1], [2], []]) == [[2], [1], [0]])
        #expect(Cycles.inOrder(needs: [[0], [0]]) == [[0], [1]])
        let cycles = Cycles.inOrder(needs: [[1], [2, 3], [0], [4], [3], [0, 4]]).map { $0.sorted() }
        #expect(cycles == [[3, 4], [0, 1, 2], [5]])
    }
}

private struct Station: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "station"
    var id = UUID()
    var next: UUID?
    var hub: UUID?

    /// - Parameter hub: Nil if the column is not a reference.
    static func device(next: Reference.Action, hub: Reference.Action?) throws -> Device {
        func references(_ action: Reference.Action) -> String {
            switch action {
            case .cascade: "REFERENCES station(id) ON DELETE CASCADE"
            case .setNull: "REFERENCES station(id) ON DELETE SET NULL"
            case .restrict: "REFERENCES station(id)"
            }
        }
        let columns = "next BLOB \(references(next)), hub BLOB \(hub.map(references) ?? "")"
        return try Device([Station.self]) { migrator in
            migrator.registerMigration("station") { db in
                try db.execute(sql: "CREATE TABLE station(id BLOB PRIMARY KEY NOT NULL, \(columns))")
            }
        }
    }

    func row(_ seq: Int64, stamp: Int64 = 0, next: Station? = nil, hub: Station? = nil) -> RemotePage.Row {
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + stamp), device: "OtherPhone")
        func wire(_ station: Station?) -> JSON { station.map { .string($0.id.uuidString.lowercased()) } ?? .null }
        return RemotePage.Row(
            table: "station", id: id.uuidString.lowercased(),
            content: .row(
                RowPatch(
                    generation: 1, clocks: ColumnClocks(common: clock), seq: seq,
                    values: ["next": wire(next), "hub": wire(hub)])))
    }
}

extension Device {
    fileprivate func take(_ rows: [RemotePage.Row], from: Int = 0, to: Int, hasMore: Bool = false) async throws {
        try await store.take(rows, from: from, to: to, hasMore: hasMore, of: ["station"])
    }

    fileprivate func stations() async throws -> Int { try await store.read { try Station.fetchCount($0) } }
}

private struct Box: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "box"
    var id = UUID()
    var owner: UUID?
    var beside: UUID?
    var name: String?
    var code: String?

    var wireID: String { id.uuidString.lowercased() }

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("box") { db in
            try db.execute(
                sql: """
                    CREATE TABLE box(
                    id BLOB PRIMARY KEY NOT NULL, owner BLOB REFERENCES box(id) ON DELETE CASCADE,
                    beside BLOB REFERENCES box(id), name TEXT UNIQUE, code TEXT UNIQUE)
                    """)
        }
    }

    /// - Parameter later: The columns written in this transaction and not in the first.
    func row(_ seq: Int64, generation: Int = 1, later: [String] = [], _ values: JSONObject) -> RemotePage.Row {
        func clock(_ seq: Int64) -> WriteClock {
            WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + seq), device: "OtherPhone")
        }
        var clocks = ColumnClocks(common: clock(later.isEmpty ? seq : 1))
        for column in later { clocks.exceptions[column] = clock(seq) }
        return RemotePage.Row(
            table: "box", id: wireID,
            content: .row(RowPatch(generation: generation, clocks: clocks, seq: seq, values: values)))
    }
}

extension Device {
    fileprivate func take(_ rows: [RemotePage.Row], at seq: Int) async throws {
        #expect(
            try await store.apply(
                RemotePage(from: "m.\(seq - 1)", cursor: "m.\(seq)", hasMore: false, rows: rows), to: ["box"],
                initialCursor: "m.0"))
    }
}
