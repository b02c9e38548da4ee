import GRDB
import OptimistUI
import SwiftUI

/// A to-do list that works offline and syncs while it is on the screen.
@main
struct PlannerApp: App {
    private let client = OptimistClient("planner", server: "https://api.example.org", synced: Todo.self) { migrator in
        Todo.migrate(&migrator)
    }

    var body: some Scene {
        WindowGroup { ContentView(client: client) }.optimist(client)
    }
}
