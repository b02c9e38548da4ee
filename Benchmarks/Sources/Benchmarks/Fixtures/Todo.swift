// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist

struct Todo: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "todo"

    var id = UUID()
    var content = "Buy the tickets for the concert on Friday"
    var date = "2026-11-21"
    var priority = 0
    var done = false
    var alarm: Date?

    /// - Parameter isIndexed: Whether to create an index for the list by date.
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

    /// Sorted by id. The ids are spread like random ones.
    static func inOrder(_ count: Int) -> [Todo] {
        let step = UInt64.max / UInt64(count)
        return (0..<count).map { index in
            let high = UInt64(index) * step
            let bytes = (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * $0)) }
            let id = UUID(
                uuid: (
                    bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6] & 0x0F | 0x40, bytes[7],
                    0x80, 1, 2, 3, 4, 5, 6, 7
                ))
            return Todo(id: id, priority: index % 4)
        }
    }
}

extension [Todo] {
    func insert(_ db: Database) throws { for todo in self { try todo.insert(db) } }

    /// Uses one statement, without the overhead of records.
    func insertBySQL(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: "INSERT INTO todo(id, content, date, priority, done) VALUES (?, ?, ?, ?, ?)")
        for todo in self {
            try statement.execute(arguments: [todo.id, todo.content, todo.date, todo.priority, todo.done])
        }
    }

    /// Uses records, which write all columns.
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
