// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

/// The foreign keys of synced tables, and names that differ only in case, which SQLite treats as equal.
struct ReferenceTests {
    private struct Loud: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "TAG"
        var id = UUID()
        var word = ""
    }

    private static func migrating(_ sql: String) -> (inout DatabaseMigrator) -> Void {
        { migrator in migrator.registerMigration("tables") { try $0.execute(sql: sql) } }
    }

    @Test(arguments: [
        (
            "project",
            "CREATE TABLE step(id BLOB PRIMARY KEY NOT NULL REFERENCES Project(ID) ON DELETE CASCADE, text TEXT)"
        ),
        ("project", "CREATE TABLE step(id BLOB PRIMARY KEY NOT NULL REFERENCES project, text TEXT)"),
        (
            "title",
            "CREATE TABLE step(id BLOB PRIMARY KEY NOT NULL, text TEXT REFERENCES project(title) ON DELETE CASCADE)"
        ),
        (
            "part",
            """
            CREATE TABLE step(id BLOB PRIMARY KEY NOT NULL, text TEXT, project BLOB, FOREIGN KEY(project, text)
            REFERENCES project(id, title))
            """
        ),
    ])
    func `R4 a foreign key that the server cannot follow is refused by name`(_: String, step: String) throws {
        let project =
            "CREATE TABLE project(id BLOB PRIMARY KEY NOT NULL, title TEXT UNIQUE, part BLOB, UNIQUE(id, title))"
        let error = #expect(throws: OptimistError.self) {
            try Device([Project.self, Step.self], migrate: Self.migrating("\(project); \(step)"))
        }
        #expect(error?.code == .invalidTable)
        #expect(error?.message.hasPrefix("step.") == true && error?.message.contains("foreign key to project") == true)
    }

    @Test func `R4 a reference that differs in case still makes a child wait for its parent`() async throws {
        let device = try Device(
            [Project.self, Step.self],
            migrate: Self.migrating(
                """
                CREATE TABLE PROJECT(id BLOB PRIMARY KEY NOT NULL, title TEXT, part BLOB);
                CREATE TABLE Step(id BLOB PRIMARY KEY NOT NULL, text TEXT, project BLOB REFERENCES "Project"(ID) ON DELETE CASCADE);
                """))
        let step = try #require(device.store.layout(named: "step"))
        #expect(step[column: "project"]?.reference == Reference(table: "project", onDelete: .cascade))
        let (project, child) = (Project(title: "Boat"), Step(text: "Paint"))
        try await device.store.take([.step(child, in: project)], to: 1)
        let waiting = try await device.store.parkedRows().first
        #expect(waiting?.table == "step" && "\(waiting?.reason as Any)".contains(project.wireID))
        try await device.store.take([.project(project, seq: 2)], from: 1, to: 2)
        #expect(try await device.rows("step").count == 1)
    }

    @Test func `L1 a record that names its table in another case keeps its unsent edits`() async throws {
        let device = try Device([Shop.Tag.self], migrate: Shop.tagged)
        try await device.execute("INSERT INTO tag(id, word) VALUES (?, 'new')", [UUID()])
        try await device.store.apply([.accepted(seq: 1)], of: try #require(try await device.next()))
        try await device.execute("UPDATE tag SET word = 'newer'")
        let number = device.store.layouts.map(\.number)
        try device.open([Loud.self], migrate: Shop.tagged)
        #expect(device.store.layouts.map(\.number) == number)
        let pending = try await device.store.pendingRows()
        #expect(pending.map(\.table) == ["TAG"] && pending.first?.kind == .update)
        try await device.execute("UPDATE tag SET word = 'newest'")
        #expect(try await device.store.pendingRows().count == 1)
    }
}
