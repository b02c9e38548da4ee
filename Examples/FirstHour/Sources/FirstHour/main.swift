// This source file is part of the Optimist open source project, under the MIT licence.
//
// The program of "Getting started". Scripts/check-docs compares this file with the guide.

import Foundation
import GRDB
import Optimist
import OptimistSession

struct Todo: Codable, Identifiable, SyncedRecord {  // An ordinary GRDB record.
    var id = UUID()
    var content: String
    var done = false
}

let store = try Store(at: URL(filePath: "planner.sqlite"), synced: [Todo.self]) { migrator in
    migrator.registerMigration("todo") { db in
        try db.create(table: "todo") { t in
            t.primaryKey("id", .blob)
            t.column("content", .text).notNull().defaults(to: "")
            t.column("done", .boolean).notNull().defaults(to: false)
        }
    }
}
// swift-format-ignore: NeverForceUnwrap
let session = Session(
    server: URL(string: "http://localhost:8090")!, credentials: .file(at: URL(filePath: "keys")))
let sync = SyncEngine(store: store, session: session)

// Each device signs in once, with the arguments `sign-up EMAIL PASSWORD` or `sign-in EMAIL PASSWORD`.
let words = CommandLine.arguments.dropFirst()
if words.count == 3, let email = words.dropFirst().first, let password = words.last {
    if words.first == "sign-up" {
        try await session.signUp(email: email, password: password)
    } else {
        try await session.signIn(email: email, password: password)
    }
}

Task { await sync.run() }  // Sends and receives while there is a network and a signed-in user.

// Returns when the row is durable on this device. Every screen shows it now, and the engine sends it when it can.
try await store.write { db in try Todo(content: "Buy tickets").insert(db) }

// Yields the to-dos now, and after each commit that changes them.
for await state in store.observe({ db in try Todo.fetchAll(db) }) {
    print(try state.get().map(\.content))
}
