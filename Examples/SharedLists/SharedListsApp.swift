// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistUI
import SwiftUI

/// To-do lists that work offline, and that people can share.
@main
struct SharedListsApp: App {
    private let client = OptimistClient(
        "lists", server: "https://api.example.org", synced: TodoList.self, Todo.self
    ) { migrator in
        TodoList.migrate(&migrator)
    }

    var body: some Scene {
        WindowGroup { ListsView(client: client) }.optimist(client)
    }
}
