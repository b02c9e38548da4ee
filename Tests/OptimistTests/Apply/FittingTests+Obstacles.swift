// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

extension FittingTests {
    // MARK: - References to unsynced tables

    /// A device with stops. A stop can refer to another stop, and to a row of an unsynced table.
    private func stops() throws -> Device {
        try Device([Stop.self]) { migrator in
            migrator.registerMigration("stop") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE local(id BLOB PRIMARY KEY NOT NULL);
                        CREATE TABLE stop(
                            id BLOB PRIMARY KEY NOT NULL, name TEXT, line BLOB REFERENCES stop(id) ON DELETE CASCADE,
                            local BLOB REFERENCES local(id));
                        """)
            }
        }
    }

    @Test(arguments: [true, false])
    func `R4 S8 a row whose parent can never arrive does not split a cycle`(isInSamePage: Bool) async throws {
        let device = try stops()
        let (north, south, stuck) = (Stop(), Stop(), Stop())
        let cycle = [stop(north, line: south), stop(south, line: north)]
        let obstacle = stop(stuck, local: UUID())
        if isInSamePage {
            try await device.store.take([obstacle] + cycle, to: 1, of: ["stop"])
        } else {
            try await device.store.take([obstacle], to: 1, of: ["stop"])
            try await device.store.take(cycle, from: 1, to: 2, of: ["stop"])
        }
        #expect(try await device.store.read { try Stop.fetchCount($0) } == 2)
        #expect(try await device.store.parkedRows().map(\.rowID) == [stuck.wireID])
    }

    @Test func `R2 R4 rows are inserted before others are deleted, even when each is tried alone`() async throws {
        let device = try stops()
        let store = device.store
        let (old, new, child, stuck) = (Stop(), Stop(), Stop(), Stop())
        try await store.take([stop(old), stop(child, line: old), stop(stuck, local: UUID())], to: 1, of: ["stop"])
        try await device.execute("UPDATE stop SET name = 'Mine' WHERE id = ?", [child.id])
        try await store.take([stop(child, line: new, seq: 2)], from: 1, to: 2, of: ["stop"])
        #expect(try await store.parkedRows().count == 2, "the new line has not arrived")
        try await store.take([stop(new, seq: 3), .gone("stop", old.id, seq: 3)], from: 2, to: 3, of: ["stop"])
        let moved = try #require(try await store.read { try Stop.fetchOne($0, key: child.id) })
        #expect(moved.line == new.id && moved.name == "Mine")
        #expect(try await store.conflicts().isEmpty)
        #expect(try await store.counts().pending == 1)
    }

    // MARK: - Exchanges

    @Test(arguments: ["", "ON DELETE RESTRICT"])
    func `M6 R4 S8 rows swap unique values despite a deletion that one of the app's tables refuses`(action: String)
        async throws
    {
        let fair = Project(title: "Fair")
        try await store.take([.project(trip), .project(tour), .project(fair)], to: 1)
        try await store.write { db in
            try db.execute(sql: "CREATE TABLE draft(project BLOB REFERENCES project(id) \(action))")
            try db.execute(sql: "INSERT INTO draft VALUES (?)", arguments: [fair.id])
        }
        try await store.take([.gone("project", fair.id)], from: 1, to: 2)
        #expect(try await store.counts().parked == 1)
        try await store.take(swap(seq: 3), from: 2, to: 3)
        #expect(try await title(of: trip) == "Tour")
        #expect(try await store.counts().parked == 1)
        try await store.write { try $0.execute(sql: "DELETE FROM draft") }
        try await store.take([], from: 3, to: 4)
        #expect(try await store.projects() == ["Tour", "Trip"])
    }

    enum Hindrance: CaseIterable, Sendable { case ownRow, trigger, missingParent, unsentValue }

    @Test(arguments: Hindrance.allCases)
    func `M6 R4 S8 rows swap unique values although other rows cannot`(hindrance: Hindrance) async throws {
        let (sea, lake, own) = (Project(title: "Sea"), Project(title: "Lake"), Project(title: "Own"))
        try await store.take([.project(trip), .project(tour), .project(sea), .project(lake)], to: 1)
        var others: [RemotePage.Row]
        switch hindrance {
        case .ownRow:
            try await store.write { try own.insert($0) }
            others = [renamed(sea, "Lake"), renamed(lake, "Own")]
        case .trigger:
            try await store.write {
                try $0.execute(
                    sql: """
                        CREATE TRIGGER app BEFORE UPDATE ON project WHEN NEW.title = 'Lake'
                        BEGIN SELECT RAISE(ABORT, 'not here'); END
                        """)
            }
            others = [renamed(sea, "Lake"), renamed(lake, "Sea")]
        case .missingParent:
            others = [
                renamed(sea, "Lake", part: Project()), renamed(lake, "Sea"),
            ]
        case .unsentValue:
            try await store.write {
                try $0.execute(sql: "UPDATE project SET title = 'Shore' WHERE id = ?", arguments: [sea.id])
            }
            others = [renamed(sea, "Lake"), renamed(lake, "Shore")]
        }
        try await store.take(others + swap(seq: 2), from: 1, to: 2)
        #expect(try await title(of: trip) == "Tour")
        #expect(try await title(of: tour) == "Trip")
        let reasons = try await store.parkedRows().map { "\($0.reason)" }.sorted()
        switch hindrance {
        case .ownRow, .unsentValue:
            #expect(!reasons.isEmpty && reasons.allSatisfy { $0.contains("UNIQUE") }, "\(reasons)")
        case .trigger: #expect(reasons == ["not here", "not here"])
        case .missingParent:
            #expect(reasons.count == 2 && reasons.contains { $0.hasPrefix("It refers to project") }, "\(reasons)")
        }
    }

    // MARK: - Rows that move

    @Test func `R2 R4 a row that moves to its deleted parent's successor keeps its children`()
        async throws
    {
        let (old, new) = (Project(title: "Trip"), Project(title: "Trip"))
        let (tickets, visa) = (tickets, visa)
        try await store.take([.project(old), .step(tickets, in: old)], to: 1)
        try await store.write { db in
            try db.execute(sql: "CREATE TABLE draft(step BLOB REFERENCES step(id) ON DELETE CASCADE)")
            try db.execute(sql: "INSERT INTO draft VALUES (?)", arguments: [tickets.id])
            try db.execute(sql: "UPDATE step SET text = 'Mine' WHERE id = ?", arguments: [tickets.id])
            try visa.insert(db)
        }
        try await store.take(
            [
                .project(new, seq: 2), .step(tickets, seq: 2, in: new, stamp: 1_790_000_000_500),
                .gone("project", old.id),
            ], from: 1, to: 2)
        #expect(try await store.projects() == ["Trip"])
        #expect(try await store.steps() == ["Mine", "Visa"])
        #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM draft") } == 1)
        #expect(try await store.conflicts().isEmpty)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R4 M6 a deletion that an indirect reference prevents waits until the referring row moves`() async throws
    {
        let device = try Device([Cabinet.self, Board.self, Item.self]) { migrator in
            migrator.registerMigration("cabinet") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE cabinet(id BLOB PRIMARY KEY NOT NULL, title TEXT UNIQUE);
                        CREATE TABLE board(
                            id BLOB PRIMARY KEY NOT NULL, cabinet BLOB REFERENCES cabinet(id) ON DELETE CASCADE);
                        CREATE TABLE item(
                            id BLOB PRIMARY KEY NOT NULL, board BLOB REFERENCES board(id) ON DELETE RESTRICT);
                        """)
            }
        }
        let tables = ["cabinet", "board", "item"]
        let (d, a, k, l, g) = (UUID(), UUID(), UUID(), UUID(), UUID())
        func row(_ table: String, _ id: UUID, _ values: JSONObject, seq: Int64) -> RemotePage.Row {
            let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + seq), device: "OtherPhone")
            return RemotePage.Row(
                table: table, id: id.uuidString.lowercased(),
                content: .row(RowPatch(generation: 1, clocks: ColumnClocks(common: clock), seq: seq, values: values)))
        }
        func wire(_ id: UUID) -> JSON { .string(id.uuidString.lowercased()) }
        try await device.store.take(
            [
                row("cabinet", d, ["title": "Trip"], seq: 1), row("board", k, ["cabinet": wire(d)], seq: 1),
                row("item", g, ["board": wire(k)], seq: 1),
            ], to: 1, of: tables)
        try await device.store.take(
            [
                row("item", g, ["board": wire(l)], seq: 2), row("board", l, ["cabinet": wire(a)], seq: 2),
                row("cabinet", a, ["title": "Trip"], seq: 2), .gone("board", k), .gone("cabinet", d),
            ], from: 1, to: 2, of: tables)
        #expect(try await device.store.parkedRows().isEmpty)
        #expect(try await device.store.read { try Item.fetchOne($0, key: g)?.board } == l)
        #expect(try await device.store.read { try Cabinet.fetchAll($0).map(\.id) } == [a])
    }

    @Test func `M6 R4 a page can shift the unique values of a long list by one`() async throws {
        let list = (0..<300).map { Project(title: "\($0)") }
        try await store.take(list.map { .project($0) }, to: 1)
        var random = SplitMix64(seed: 7)
        let moved = list.indices.map { renamed(list[$0], "\($0 + 1)") }
        try await store.take(moved.shuffled(using: &random), from: 1, to: 2)
        #expect(try await store.projects().count == 300)
        #expect(try await title(of: list[0]) == "1")
        #expect(try await title(of: list[299]) == "300")
        #expect(try await store.counts().parked == 0)
    }

    @Test func `R1 R4 if a page contains a row twice, the later version is parked or shown`() async throws {
        try await store.write { [tour] in try tour.insert($0) }
        try await store.take([
            .project(trip, title: "Tour"), .project(trip, seq: 2, title: "Trip", stamp: 1_790_000_000_500),
            .step(tickets, in: Project()),
        ])
        #expect(try await store.projects() == ["Tour", "Trip"])
        #expect(try await store.parkedRows().map(\.table) == ["step"])
    }

    // MARK: - Discarding

    @Test func `L2 nothing is discarded if an unsynced table refers to a row that would be removed`() async throws {
        let trip = trip
        try await store.write { db in
            try trip.insert(db)
            try db.execute(sql: "CREATE TABLE draft(project BLOB REFERENCES project(id))")
            try db.execute(sql: "INSERT INTO draft VALUES (?)", arguments: [trip.id])
        }
        await #expect(throws: DatabaseError.self) { try await store.discardPending() }
        #expect(try await store.projects() == ["Trip"])
        #expect(try await store.counts().pending == 1)
        #expect(try await store.read { try Row.fetchAll($0, sql: "PRAGMA foreign_key_check").isEmpty })
    }

    // MARK: - Rows

    private func swap(seq: Int64) -> [RemotePage.Row] {
        [renamed(trip, "Tour", seq: seq), renamed(tour, "Trip", seq: seq)]
    }

    private func renamed(_ project: Project, _ title: String, part: Project? = nil, seq: Int64 = 2) -> RemotePage.Row {
        .project(project, seq: seq, title: title, part: part, stamp: 1_790_000_000_000 + seq)
    }

    private func title(of project: Project) async throws -> String? {
        try await store.read { try Project.fetchOne($0, key: project.id)?.title }
    }

    private func stop(_ stop: Stop, line: Stop? = nil, local: UUID? = nil, seq: Int64 = 1) -> RemotePage.Row {
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + seq), device: "OtherPhone")
        return RemotePage.Row(
            table: "stop", id: stop.wireID,
            content: .row(
                RowPatch(
                    generation: 1, clocks: ColumnClocks(common: clock), seq: seq,
                    values: [
                        "name": "Stop", "line": line.map { .string($0.wireID) } ?? .null,
                        "local": local.map { .string($0.uuidString.lowercased()) } ?? .null,
                    ])))
    }
}

private struct Cabinet: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "cabinet"
    var id = UUID()
    var title: String?
}

private struct Board: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "board"
    var id = UUID()
    var cabinet: UUID?
}

private struct Item: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "item"
    var id = UUID()
    var board: UUID?
}

private struct Stop: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "stop"
    var id = UUID()
    var name: String?
    var line: UUID?
    var local: UUID?

    var wireID: String { id.uuidString.lowercased() }
}
