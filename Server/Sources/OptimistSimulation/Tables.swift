// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
import OptimistWire

/// The app that every simulated device runs: lists of to-dos with steps, which refer to each other.
enum Tables {
    struct List: Codable, SyncedRecord {
        var id: UUID
        var name: String
        var rank: Int?
    }

    struct Todo: Codable, SyncedRecord {
        var id: UUID
        var listId: UUID?
        var content: String
        var done: Bool
        var note: String?
    }

    struct Step: Codable, SyncedRecord {
        var id: UUID
        var todoId: UUID?
        var parentId: UUID?
        var label: String
    }

    /// Parents before children.
    static let names = ["list", "todo", "step"]
    /// The columns of each table, without its id.
    static let columns = [
        "list": ["name", "rank"], "todo": ["listId", "content", "done", "note"],
        "step": ["todoId", "parentId", "label"],
    ]

    static let app = SimulatedApp(synced: [List.self, Todo.self, Step.self]) { migrator in
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE list(id BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL DEFAULT '', rank INTEGER);
                    CREATE TABLE todo(
                        id BLOB PRIMARY KEY NOT NULL, listId BLOB REFERENCES list(id), content TEXT NOT NULL DEFAULT '',
                        done BOOLEAN NOT NULL DEFAULT 0, note TEXT);
                    CREATE INDEX todo_list ON todo(listId);
                    CREATE TABLE step(
                        id BLOB PRIMARY KEY NOT NULL, todoId BLOB REFERENCES todo(id),
                        parentId BLOB REFERENCES step(id), label TEXT NOT NULL DEFAULT '');
                    CREATE INDEX step_todo ON step(todoId);
                    CREATE INDEX step_parent ON step(parentId);
                    """)
        }
    }

    static let schema = Schema(
        id: "simulation",
        types: [
            "list": TypeSchema(columns: ["name": ColumnSchema(.string), "rank": ColumnSchema(.int)]),
            "todo": TypeSchema(columns: [
                "listId": ColumnSchema(.ref, target: "list"), "content": ColumnSchema(.string),
                "done": ColumnSchema(.bool), "note": ColumnSchema(.string),
            ]),
            "step": TypeSchema(columns: [
                "todoId": ColumnSchema(.ref, target: "todo"), "parentId": ColumnSchema(.ref, target: "step"),
                "label": ColumnSchema(.string),
            ]),
        ])

    /// Few ids, the same for every device, so that devices meet in the same rows.
    static let idsPerTable = 10

    static func id(_ table: String, _ number: Int) -> Data {
        var bytes = Data(repeating: 0, count: 16)
        bytes[0] = UInt8((names.firstIndex(of: table) ?? 0) + 1)
        bytes[6] = 0x40
        bytes[8] = 0x80
        bytes[15] = UInt8(number)
        return bytes
    }
}
