// This source file is part of the Optimist open source project, under the MIT licence.
//
// The one-time import of an app that used another library.

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

/// Copies the to-dos of the former library, once.
func copy(_ former: [FormerTodo], in migrator: inout DatabaseMigrator) {
    migrator.registerMigration("from the former library") { db in
        for todo in former {
            // The former id is the same on each device of the user,
            // so copies from two devices become one row.
            try Todo(id: todo.id, content: todo.text, done: todo.isDone).insert(db)
        }
    }
}
