// This source file is part of the Optimist open source project, under the MIT licence.
//
// The first example of the README. `swift build` compiles this file, and Scripts/check-docs compares the two.

// snippet.show
import Foundation
import GRDB
// snippet.hide
import HTTPTypes
// snippet.show
import Optimist
import OptimistSession

struct Todo: Codable, Identifiable, SyncedRecord {  // An ordinary GRDB record.
    var id = UUID()
    var content: String
    var date: String
    var done = false
}

struct Planner {
    let store: Store
    let session: Session
    let sync: SyncEngine

    init(file: URL, server: URL) throws {
        store = try Store(at: file, synced: [Todo.self]) { migrator in
            migrator.registerMigration("todo") { db in
                try db.create(table: "todo") { t in
                    t.primaryKey("id", .blob)
                    t.column("content", .text).notNull().defaults(to: "")
                    t.column("date", .text).notNull().defaults(to: "")
                    t.column("done", .boolean).notNull().defaults(to: false)
                }
            }
        }
        session = Session(server: server, credentials: .keychain)
        sync = SyncEngine(store: store, session: session)
    }

    /// Sends and receives until its task is cancelled.
    func run() async { await sync.run() }

    /// Returns as soon as the to-do is durable on this device. It is sent when that is possible.
    func add(_ content: String, on date: String) async throws {
        try await store.write { db in try Todo(content: content, date: date).insert(db) }
    }

    /// Hands the to-dos of a day to a screen: now, and after every commit that changes them.
    func show(_ date: String, on screen: ([Todo]) -> Void) async {
        let todos = store.observe { db in try Todo.filter(Column("date") == date).fetchAll(db) }
        for await todos in todos { screen(todos) }
    }

    /// For a status line: offline, 3 pending, 1 rejected.
    func showStatus(on screen: (SyncStatus) -> Void) async {
        for await status in sync.status { screen(status) }
    }
}
// snippet.hide

// What the example uses of Apple's systems, so that it compiles everywhere.
#if !canImport(Security)
    extension CredentialStore where Self == InMemoryCredentialStore {
        static var keychain: InMemoryCredentialStore { inMemory }
    }
#endif
#if !canImport(Darwin) && !AsyncHTTPClient
    extension Session {
        convenience init(server: URL, credentials: any CredentialStore) {
            self.init(server: server, transport: NoTransport(), credentials: credentials)
        }
    }

    private struct NoTransport: Transport {
        func send(_ request: TransportRequest) async throws -> TransportResponse {
            throw TransportError(.unsupported, .notSent)
        }
    }
#endif
