// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist

/// A list. Its column `space` names the people who share it.
struct TodoList: Codable, Identifiable, SyncedRecord {
    static let syncRules = SyncRules(space: .own("space"))
    var id = UUID()
    var title: String
    var space: Space.ID?

    @Sendable static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("v1") { db in
            try db.create(table: "todoList") { t in
                t.syncedID()
                t.column("title", .text).notNull().defaults(to: "")
                t.column("space", .blob)
            }
            try db.create(table: "todo") { t in
                t.syncedID()
                t.column("listID", .blob).notNull().references("todoList", onDelete: .cascade)
                t.column("title", .text).notNull().defaults(to: "")
                t.column("done", .boolean).notNull().defaults(to: false)
            }
        }
    }
}

/// A to-do. It is shared with the people of its list.
struct Todo: Codable, Identifiable, SyncedRecord {
    static let syncRules = SyncRules(space: .of("listID"))
    var id = UUID()
    var listID: UUID
    var title: String
    var done = false
}
