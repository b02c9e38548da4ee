// This source file is part of the Optimist open source project, under the MIT licence.
//
// The code of Documentation/Recipes.md.

import Foundation
import GRDB
import Optimist
import OptimistSession

struct Todo: Codable, Identifiable, SyncedRecord {
    var id = UUID()
    var content: String
    var done = false
}

/// Opens the file that the app and its extensions share, in the container of their app group.
func openStore(in container: URL) throws -> Store {
    try Store(at: container.appending(path: "planner.sqlite"), synced: [Todo.self]) { migrator in
        migrator.registerMigration("todo") { db in
            try db.create(table: "todo") { t in
                t.primaryKey("id", .blob)
                t.column("content", .text).notNull().defaults(to: "")
                t.column("done", .boolean).notNull().defaults(to: false)
            }
        }
        migrator.registerMigration("search") { db in
            try db.create(virtualTable: "todoText", using: FTS5()) { t in
                t.synchronize(withTable: "todo")
                t.column("content")
            }
        }
    }
}

/// The to-dos of a widget's timeline. A widget only reads, and does not run an engine.
func openTodos(in container: URL) async throws -> [Todo] {
    try await openStore(in: container).read { db in
        try Todo.filter(Column("done") == false).fetchAll(db)
    }
}

/// The action of an App Intent. The app sends the change, now or after its next launch.
func tickOff(_ id: UUID, in container: URL) async throws {
    try await openStore(in: container).write { db in
        try db.execute(sql: "UPDATE todo SET done = 1 WHERE id = ?", arguments: [id])
    }
}

/// The to-dos that contain these words, now and after each change on any device.
func search(_ words: String, in store: Store) -> QueryStates<[Todo]> {
    store.observe { db in
        guard let pattern = FTS5Pattern(matchingAllPrefixesIn: words) else { return [] }
        return try Todo.fetchAll(
            db,
            sql: """
                SELECT todo.* FROM todo JOIN todoText ON todoText.rowid = todo.rowid
                WHERE todoText MATCH ?
                """,
            arguments: [pattern])
    }
}
