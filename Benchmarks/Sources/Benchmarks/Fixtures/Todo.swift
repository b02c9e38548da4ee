// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist

/// The record of every benchmark.
struct Todo: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "todo"

    var id = UUID()
    var content = "Buy the tickets for the concert on Friday"
    var date = "2026-11-21"
    var priority = 0
    var done = false
    var alarm: Date?

    /// - Parameter isIndexed: Whether its list by date has an index.
    static func migrate(_ migrator: inout DatabaseMigrator, isIndexed: Bool = false) {
        migrator.registerMigration("todo") { db in
            try db.create(table: "todo") { t in
                t.primaryKey("id", .blob)
                t.column("content", .text).notNull().defaults(to: "")
                t.column("date", .text).notNull().defaults(to: "")
                t.column("priority", .integer).notNull().defaults(to: 0)
                t.column("done", .boolean).notNull().defaults(to: false)
                t.column("alarm", .datetime)
            }
            if isIndexed { try db.create(index: "todoByDate", on: "todo", columns: ["date", "priority"]) }
        }
    }

    static func make(_ count: Int) -> [Todo] { (0..<count).map { Todo(priority: $0 % 4) } }
}

extension [Todo] {
    /// Inserts all of them as records.
    func insert(_ db: Database) throws { for todo in self { try todo.insert(db) } }

    /// Inserts all of them by one statement, without a record's own cost.
    func insertBySQL(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: "INSERT INTO todo(id, content, date, priority, done) VALUES (?, ?, ?, ?, ?)")
        for todo in self {
            try statement.execute(arguments: [todo.id, todo.content, todo.date, todo.priority, todo.done])
        }
    }

    /// Raises every priority, through records: each names all of its columns.
    func raise(_ db: Database) throws {
        for var todo in self {
            todo.priority += 1
            try todo.update(db)
        }
    }

    func raiseBySQL(_ db: Database) throws {
        let statement = try db.cachedStatement(sql: "UPDATE todo SET priority = ? WHERE id = ?")
        for todo in self { try statement.execute(arguments: [todo.priority + 1, todo.id]) }
    }
}
