// This source file is part of the Optimist open source project, under the MIT licence.
//
// The first example of the README. Scripts/check-docs compares the two, and Scripts/typecheck-apple type-checks this
// file.

import Foundation
import GRDB
import Optimist
import OptimistUI
import SwiftUI

struct Todo: Codable, Identifiable, SyncedRecord {  // An ordinary GRDB record.
    var id = UUID()
    var title: String
}
@main struct PlannerApp: App {
    let client = OptimistClient("planner", server: "https://sync.example.org", synced: Todo.self) { migrator in
        migrator.registerMigration("v1") { db in
            try db.create(table: "todo") { t in
                t.syncedID()
                t.column("title", .text).notNull().defaults(to: "")
            }
        }
    }
    var body: some Scene { WindowGroup { TodoList() }.optimist(client) }  // Syncs while the app is active.
}

struct TodoList: View {
    @LiveQuery(Todo.order(Column("title"))) private var todos: [Todo]
    @Environment(\.store) private var store
    var body: some View {
        List(todos) { Text($0.title) }
        Button("Add") { Task { try? await store.write { try Todo(title: "Buy tickets").insert($0) } } }
    }
}
