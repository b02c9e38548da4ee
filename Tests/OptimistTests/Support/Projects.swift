// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

struct Project: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "project"
    var id = UUID()
    var title: String?
    /// The project that contains this one.
    var part: UUID?

    var wireID: String { id.uuidString.lowercased() }
}

struct Step: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "step"
    var id = UUID()
    var text: String
    var project: UUID?

    var wireID: String { id.uuidString.lowercased() }
}

final class Desk: Sendable {
    private let device: Device

    init(onDelete: String = "CASCADE") throws {
        device = try Device([Step.self, Project.self]) { migrator in
            migrator.registerMigration("desk") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE project(
                            id BLOB PRIMARY KEY NOT NULL, title TEXT UNIQUE, part BLOB REFERENCES project(id));
                        CREATE TABLE step(
                            id BLOB PRIMARY KEY NOT NULL, text TEXT NOT NULL DEFAULT '',
                            project BLOB REFERENCES project(id) ON DELETE \(onDelete));
                        """)
            }
        }
    }

    var store: Store { device.store }
}

extension Store {
    func projects() async throws -> [String?] {
        try await read { try Project.order(Column("title")).fetchAll($0).map(\.title) }
    }

    func steps() async throws -> [String] {
        try await read { try Step.order(Column("text")).fetchAll($0).map(\.text) }
    }

    func entry(_ step: Step) async throws -> RowEntry? {
        try await read { db in
            let table = try Int64.fetchOne(db, sql: "SELECT number FROM optimist_table WHERE name = 'step'") ?? 0
            return try RowEntryTable(db).entry(RowRef(table: table, id: step.id.databaseValue))
        }
    }

    func take(
        _ rows: [RemotePage.Row], from: Int = 0, to seq: Int = 9, hasMore: Bool = false, head: Int? = nil,
        of tables: [String] = ["step", "project"], served: Set<String>? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        var page = RemotePage(from: "e1.\(from)", cursor: "e1.\(seq)", hasMore: hasMore, rows: rows)
        page.head = head.map { "e1.\($0)" }
        #expect(
            try await apply(page, to: tables, initialCursor: "e1.0", served: served), sourceLocation: sourceLocation)
    }
}

extension RemotePage.Row {
    static func project(
        _ project: Project, seq: Int64 = 1, title: String? = nil, part: Project? = nil,
        stamp: Int64 = 1_790_000_000_000,
        generation: Int = 1
    ) -> RemotePage.Row {
        row(
            "project", project.wireID, seq, stamp, generation,
            [
                "title": (title ?? project.title).map(JSON.string) ?? .null,
                "part": part.map { .string($0.wireID) } ?? .null,
            ])
    }

    static func step(
        _ step: Step, seq: Int64 = 1, in project: Project? = nil, stamp: Int64 = 1_790_000_000_000
    ) -> RemotePage.Row {
        row(
            "step", step.wireID, seq, stamp, 1,
            [
                "text": .string(step.text), "project": project.map { .string($0.wireID) } ?? .null,
            ])
    }

    private static func row(
        _ table: String, _ id: String, _ seq: Int64, _ stamp: Int64, _ generation: Int, _ values: JSONObject
    ) -> RemotePage.Row {
        let clocks = ColumnClocks(common: WriteClock(stamp: Stamp(milliseconds: stamp), device: "OtherPhone"))
        return RemotePage.Row(
            table: table, id: id,
            content: .row(RowPatch(generation: generation, clocks: clocks, seq: seq, values: values)))
    }

    static func gone(_ table: String, _ id: UUID, seq: Int64 = 2) -> RemotePage.Row {
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_001_000), device: "OtherPhone")
        return RemotePage.Row(
            table: table, id: id.uuidString.lowercased(),
            content: .deleted(Tombstone(generation: 2, clock: clock, seq: seq)))
    }
}
