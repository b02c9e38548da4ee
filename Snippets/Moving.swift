// This source file is part of the Optimist open source project, under the MIT licence.
//
// What an app does once when it comes from another library.

import Foundation
import GRDB
import Optimist

struct Todo: Codable, Identifiable, SyncedRecord {
    var id = UUID()
    var content: String
    var done = false
}

struct FormerTodo {
    var id: UUID
    var text: String
    var isDone: Bool
}

/// The to-dos of the former library, copied once.
func copy(_ former: [FormerTodo], in migrator: inout DatabaseMigrator) {
    migrator.registerMigration("from the former library") { db in
        for todo in former {
            // The former id names the same row on each device of the user.
            // So two devices that copy make one row.
            try Todo(id: todo.id, content: todo.text, done: todo.isDone).insert(db)
        }
    }
}
