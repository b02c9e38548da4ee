// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire

/// The app of people who share: lists with to-dos, their steps and their marks, the tags of the marks, and memos that
/// are never shared.
enum SharedTables {
    /// Parents before children.
    static let names = ["list", "tag", "memo", "todo", "step", "mark"]

    /// The texts of each table. Every text belongs to one write.
    static let texts = [
        "list": "name", "tag": "note", "memo": "body", "todo": "content", "step": "label", "mark": "remark",
    ]

    /// The references of each table. The first one leads to the root of a shared row.
    static let references: [String: [(column: String, table: String)]] = [
        "todo": [("listId", "list")], "step": [("todoId", "todo")], "mark": [("todoId", "todo"), ("tagId", "tag")],
    ]

    /// The tables whose rows name their space.
    static let roots: Set<String> = ["list", "tag"]

    static let counter = (table: "todo", column: "points")

    static func columns(of table: String) -> [String] {
        (texts[table].map { [$0] } ?? []) + (references[table] ?? []).map(\.column)
            + (roots.contains(table) ? ["space"] : []) + (table == counter.table ? [counter.column] : [])
    }

    // MARK: - The app

    struct List: Codable, SyncedRecord {
        static let syncRules = SyncRules(space: .own("space"))
        var id: UUID
    }

    struct Tag: Codable, SyncedRecord {
        static let syncRules = SyncRules(space: .own("space"))
        var id: UUID
    }

    struct Todo: Codable, SyncedRecord {
        static let syncRules = SyncRules(counters: ["points"], space: .of("listId"))
        var id: UUID
    }

    struct Step: Codable, SyncedRecord {
        static let syncRules = SyncRules(space: .of("todoId"))
        var id: UUID
    }

    struct Mark: Codable, SyncedRecord {
        static let syncRules = SyncRules(space: .of("todoId"))
        var id: UUID
    }

    struct Memo: Codable, SyncedRecord { var id: UUID }

    static let app = SimulatedApp(
        synced: [List.self, Tag.self, Memo.self, Todo.self, Step.self, Mark.self]
    ) { migrator in
        migrator.registerMigration("1") { db in try db.execute(sql: tables) }
    }

    private static let tables = """
        CREATE TABLE list(id BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL DEFAULT '', space BLOB);
        CREATE TABLE tag(id BLOB PRIMARY KEY NOT NULL, note TEXT NOT NULL DEFAULT '', space BLOB);
        CREATE TABLE memo(id BLOB PRIMARY KEY NOT NULL, body TEXT NOT NULL DEFAULT '');
        CREATE TABLE todo(
            id BLOB PRIMARY KEY NOT NULL, listId BLOB NOT NULL REFERENCES list(id) ON DELETE CASCADE,
            content TEXT NOT NULL DEFAULT '', points INTEGER NOT NULL DEFAULT 0);
        CREATE INDEX todo_list ON todo(listId);
        CREATE TABLE step(
            id BLOB PRIMARY KEY NOT NULL, todoId BLOB NOT NULL REFERENCES todo(id) ON DELETE CASCADE,
            label TEXT NOT NULL DEFAULT '');
        CREATE INDEX step_todo ON step(todoId);
        CREATE TABLE mark(
            id BLOB PRIMARY KEY NOT NULL, todoId BLOB NOT NULL REFERENCES todo(id) ON DELETE CASCADE,
            tagId BLOB REFERENCES tag(id) ON DELETE SET NULL, remark TEXT NOT NULL DEFAULT '');
        CREATE INDEX mark_todo ON mark(todoId);
        CREATE INDEX mark_tag ON mark(tagId);
        """

    // MARK: - The server

    static let schema: Schema = {
        var types: [String: TypeSchema] = [:]
        for table in names {
            var columns: [String: ColumnSchema] = [:]
            if let text = texts[table] { columns[text] = ColumnSchema(.string) }
            for (column, target) in references[table] ?? [] {
                columns[column] = ColumnSchema(.ref, target: target, onDelete: target == "tag" ? .setNull : .cascade)
            }
            if roots.contains(table) { columns["space"] = ColumnSchema(.ref) }
            if table == counter.table { columns[counter.column] = ColumnSchema(.counter) }
            var type = TypeSchema(columns: columns)
            if roots.contains(table) {
                type.space = .own("space")
            } else if let root = references[table]?.first {
                type.space = .of(root.column)
            }
            types[table] = type
        }
        return Schema(id: "sharing", types: types)
    }()
}
