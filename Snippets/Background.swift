// This source file is part of the Optimist open source project, under the MIT licence.
//
// The code of "Background sync" in Documentation/Recipes.md.

import Foundation
import GRDB
import Optimist
import OptimistUI

#if canImport(SwiftUI)
    import SwiftUI
#endif

struct Todo: Codable, Identifiable, SyncedRecord {
    var id = UUID()
    var content: String
    var done = false

    @Sendable static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("todo") { db in
            try db.create(table: "todo") { t in
                t.syncedID()
                t.column("content", .text).notNull().defaults(to: "")
                t.column("done", .boolean).notNull().defaults(to: false)
            }
        }
    }
}

#if canImport(BackgroundTasks) && !os(macOS) && !os(watchOS)
    struct PlannerApp: App {
        private let client: OptimistClient
        private let background: BackgroundSync
        @Environment(\.scenePhase) private var phase

        init() {
            client = OptimistClient(
                "planner", server: "https://api.example.org", synced: Todo.self, migrate: Todo.migrate)
            background = BackgroundSync("org.example.planner.sync", client: client)
            background.register()  // Must be called before the app has finished launching.
        }

        var body: some Scene {
            WindowGroup { Text("Planner") }
                .optimist(client)
                .onChange(of: phase) { if phase == .background { background.schedule() } }
        }
    }
#endif

/// Sends and receives once, for example in a background task, a command or a test.
func syncOnce(_ engine: SyncEngine) async throws -> Bool {
    let outcome = try await engine.syncOnce(timeout: .seconds(25))
    print(outcome)  // "The server cannot be reached. Pending: 3. Rejected: 0."
    return outcome.isComplete
}
