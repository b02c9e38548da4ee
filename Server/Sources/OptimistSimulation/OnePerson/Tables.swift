// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import OptimistWire

/// The app on every device: lists of to-dos with steps, tags with counters, and memos. Its references cover every rule
/// of the schema, and its second version adds a column.
enum Tables {
    enum Kind: Equatable {
        /// Unique texts, so that their writer is known.
        case text
        case plain
        case reference(to: String, ColumnSchema.OnDelete)
        case counter
        /// A name that several rows may share, so that the rows merge.
        case uniqueName
    }

    struct Column {
        let name: String
        let kind: Kind
        let schema: ColumnSchema
        /// The app's version that introduced the column.
        let since: Int

        init(_ name: String, _ kind: Kind, _ type: ColumnType = .string, since: Int = 1) {
            self.name = name
            self.kind = kind
            self.since = since
            switch kind {
            case .reference(let table, let onDelete): schema = ColumnSchema(.ref, target: table, onDelete: onDelete)
            case .counter: schema = ColumnSchema(.counter)
            case .text, .plain, .uniqueName: schema = ColumnSchema(type)
            }
        }
    }

    /// Parents before children.
    static let names = ["list", "tag", "memo", "todo", "step", "mark"]

    /// The columns of each table, without its id.
    static let columns: [String: [Column]] = [
        "list": [Column("name", .text), Column("rank", .plain, .int)],
        "tag": [Column("name", .uniqueName), Column("likes", .counter)],
        "memo": [Column("body", .text), Column("views", .counter)],
        "todo": [
            Column("listId", .reference(to: "list", .cascade)), Column("content", .text), Column("done", .plain, .bool),
            Column("note", .text), Column("due", .text, since: 2),
        ],
        "step": [
            Column("todoId", .reference(to: "todo", .setNull)), Column("parentId", .reference(to: "step", .cascade)),
            Column("label", .text),
        ],
        "mark": [
            Column("todoId", .reference(to: "todo", .cascade)), Column("tagId", .reference(to: "tag", .restrict)),
            Column("remark", .text),
        ],
    ]

    static func column(_ name: String, of table: String) -> Column? { columns[table]?.first { $0.name == name } }

    static func counter(of table: String) -> String? { columns[table]?.first { $0.kind == .counter }?.name }

    static let latestVersion = 2

    static func editWins(in table: String) -> Bool { table == "memo" }

    // MARK: - The app

    struct List: Codable, SyncedRecord { var id: UUID }
    struct Todo: Codable, SyncedRecord { var id: UUID }
    struct Step: Codable, SyncedRecord { var id: UUID }
    struct Mark: Codable, SyncedRecord { var id: UUID }

    struct Tag: Codable, SyncedRecord {
        var id: UUID
        static let syncRules = SyncRules(counters: ["likes"])
    }

    struct Memo: Codable, SyncedRecord {
        var id: UUID
        static let syncRules = SyncRules(counters: ["views"], editWins: true)
    }

    static func app(version: Int) -> SimulatedApp {
        SimulatedApp(
            synced: [List.self, Tag.self, Memo.self, Todo.self, Step.self, Mark.self], schemaVersion: version
        ) { migrator in
            migrator.registerMigration("1") { db in try db.execute(sql: firstVersion) }
            guard version > 1 else { return }
            migrator.registerMigration("2") { db in try db.execute(sql: "ALTER TABLE todo ADD COLUMN due TEXT") }
        }
    }

    private static let firstVersion = """
        CREATE TABLE list(id BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL DEFAULT '', rank INTEGER);
        CREATE TABLE tag(
            id BLOB PRIMARY KEY NOT NULL, name TEXT UNIQUE, likes INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE memo(
            id BLOB PRIMARY KEY NOT NULL, body TEXT NOT NULL DEFAULT '', views INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE todo(
            id BLOB PRIMARY KEY NOT NULL, listId BLOB REFERENCES list(id) ON DELETE CASCADE,
            content TEXT NOT NULL DEFAULT '', done BOOLEAN NOT NULL DEFAULT 0, note TEXT);
        CREATE INDEX todo_list ON todo(listId);
        CREATE TABLE step(
            id BLOB PRIMARY KEY NOT NULL, todoId BLOB REFERENCES todo(id) ON DELETE SET NULL,
            parentId BLOB REFERENCES step(id) ON DELETE CASCADE, label TEXT NOT NULL DEFAULT '');
        CREATE INDEX step_todo ON step(todoId);
        CREATE INDEX step_parent ON step(parentId);
        CREATE TABLE mark(
            id BLOB PRIMARY KEY NOT NULL, todoId BLOB REFERENCES todo(id) ON DELETE CASCADE,
            tagId BLOB REFERENCES tag(id) ON DELETE RESTRICT, remark TEXT NOT NULL DEFAULT '');
        CREATE INDEX mark_todo ON mark(todoId);
        CREATE INDEX mark_tag ON mark(tagId);
        """

    // MARK: - The server

    static func schema(version: Int) -> Schema {
        let types = columns.map { table, columns in
            let known = columns.filter { $0.since <= version }.map { ($0.name, $0.schema) }
            return (
                table,
                TypeSchema(
                    columns: Dictionary(uniqueKeysWithValues: known),
                    uniqueIndexes: table == "tag" ? [UniqueIndex(["name"], onCollision: .mergeInto)] : [],
                    editWins: editWins(in: table))
            )
        }
        return Schema(id: "simulation", version: version, types: Dictionary(uniqueKeysWithValues: types))
    }

    // MARK: - Rows

    static func isReference(_ column: String, of table: String) -> Bool {
        if case .reference? = self.column(column, of: table)?.kind { true } else { false }
    }

    /// Few ids, so that devices edit the same rows.
    static let idsPerTable = 10

    static func id(_ table: String, _ number: Int) -> Data {
        var bytes = Data(repeating: 0, count: 16)
        bytes[0] = UInt8((names.firstIndex(of: table) ?? 0) + 1)
        bytes[6] = 0x40
        bytes[8] = 0x80
        bytes[15] = UInt8(number)
        return bytes
    }

    /// Returns the row that a value refers to, if any.
    ///
    /// - Parameter onDelete: Returns only references with this rule.
    static func target(
        of value: String?, in column: String, of table: String, on onDelete: ColumnSchema.OnDelete? = nil
    ) -> RowName? {
        guard let value, case .reference(let target, let action)? = self.column(column, of: table)?.kind,
            onDelete == nil || onDelete == action
        else { return nil }
        return RowName(table: target, id: value)
    }
}
