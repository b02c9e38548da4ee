// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
@_spi(Internals) import OptimistTesting

struct Todo: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "todo"
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

/// A store in a temporary folder that syncs with an in-memory server.
final class Phone: Sendable {
    let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
    let clock = ManualClock()
    let remote: InMemoryRemote

    init(_ server: InMemoryServer = InMemoryServer(schema: .planner)) throws {
        remote = InMemoryRemote(server)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func open() throws -> Store {
        try Store(
            at: folder.appending(path: "planner.sqlite"), synced: [Todo.self], durability: .normal,
            dependencies: Dependencies(clock: clock, seed: 7), migrate: Todo.migrate)
    }

    func engine(of store: Store) -> SyncEngine {
        SyncEngine(store: store, remote: remote, reachability: ManualReachability())
    }
}

/// Returns when the condition holds. Checks it again whenever the main actor has done other work.
@MainActor
func reached(_ condition: () -> Bool) async { while !condition() { await Task.yield() } }
