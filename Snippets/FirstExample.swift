// This source file is part of the Optimist open source project, under the MIT licence.
//
// The first example of the README, which Scripts/check-docs compares with it.

// snippet.hide
// Without the trait, a session on Linux needs a transport of the app's own.
#if canImport(Darwin) || AsyncHTTPClient
    // snippet.show
    import Foundation
    import GRDB
    import Optimist
    import OptimistSession

    struct Todo: Codable, Identifiable, SyncedRecord {  // An ordinary GRDB record.
        var id = UUID()
        var content: String
    }

    let store = try Store(at: URL(filePath: "planner.sqlite"), synced: [Todo.self]) { migrator in
        migrator.registerMigration("todo") { db in
            try db.create(table: "todo") { t in
                t.primaryKey("id", .blob)
                t.column("content", .text).notNull().defaults(to: "")
            }
        }
    }
    // snippet.hide
    // swift-format-ignore: NeverForceUnwrap
    // snippet.show
    let session = Session(
        server: URL(string: "http://localhost:8090")!, credentials: .file(at: URL(filePath: "keys")))
    let sync = SyncEngine(store: store, session: session)
    Task { await sync.run() }  // Sends and receives, whenever there is a network and a signed-in user.

    // Returns when the row is durable here. It is on every screen now, and is sent when that is possible.
    try await store.write { db in try Todo(content: "Buy tickets").insert(db) }

    // Now, and after each commit that changes them.
    for await state in store.observe({ db in try Todo.fetchAll(db) }) {
        print(try state.get().map(\.content))
    }
// snippet.hide
#endif
