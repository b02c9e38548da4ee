// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore

struct LabTodo: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "todo"

    var id: UUID
    var content: String
    var date: String
    var priority = 0
    var done = false
    var alarm: Date?

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("todo") { db in
            try db.create(table: databaseTableName) { t in
                t.primaryKey("id", .blob)
                t.column("content", .text).notNull().defaults(to: "")
                t.column("date", .text).notNull().defaults(to: "").indexed()
                t.column("priority", .integer).notNull().defaults(to: 0)
                t.column("done", .boolean).notNull().defaults(to: false)
                t.column("alarm", .datetime)
            }
        }
    }
}

/// A to-do on screen, with its sync state.
struct ShownTodo: Codable, FetchableRecord, Equatable, Sendable {
    var id: UUID
    var content: String
    var date: String
    var priority: Int
    var done: Bool
    var alarm: Date?
    var sync: String

    private static let selection = """
        SELECT todo.*, coalesce(state.state, 'synced') AS sync FROM todo
        LEFT JOIN optimist_state_todo state ON state.id = todo.id
        """

    /// Open to-dos first, then by priority, then by text.
    static func fetchAll(_ db: Database) throws -> [ShownTodo] {
        try fetchAll(db, sql: "\(selection) ORDER BY done, priority DESC, content, todo.id")
    }

    static func fetchOne(_ db: Database, id: UUID) throws -> ShownTodo? {
        try fetchOne(db, sql: "\(selection) WHERE todo.id = ?", arguments: [id])
    }

    /// Whether both look the same to the user, ignoring the sync state.
    func looksLike(_ other: ShownTodo) -> Bool {
        var other = other
        other.sync = sync
        return self == other
    }
}

/// The changes to a to-do in a request of the control API.
struct TodoEdit: Codable, Sendable {
    var content: String?
    var date: String?
    var priority: Int?
    var done: Bool?
    var alarm: Date?

    func apply(to todo: inout LabTodo) {
        if let content { todo.content = content }
        if let date { todo.date = date }
        if let priority { todo.priority = priority }
        if let done { todo.done = done }
        if let alarm { todo.alarm = alarm }
    }
}
