// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
@_spi(Internals) import OptimistTesting

/// A second process of an app, such as an extension, which tests start with `OtherProcess ROLE FILE` and kill.
@main
struct OtherProcess {
    struct Todo: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "todo"
        var id = UUID()
        var content: String
    }

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else { return print("OtherProcess write|sync FILE") }
        endWithTheTests()
        // Killing the process loses no write in this mode, and the tests' own app does not wait long for the disk.
        let store = try Store(at: URL(filePath: arguments[2]), synced: [Todo.self], durability: .normal) { migrator in
            // As in the tests' own app.
            migrator.registerMigration("todo") { _ in }
        }
        switch arguments[1] {
        case "write": try await write(to: store)
        default: try await sync(store)
        }
    }

    /// Ends this process when its input ends. Otherwise a program that reads the output of crashed tests would wait for
    /// this process.
    private static func endWithTheTests() {
        Thread.detachNewThread {
            while readLine() != nil {}
            exit(EXIT_FAILURE)
        }
    }

    /// Writes a to-do, and another for each one it sees from other processes.
    private static func write(to store: Store) async throws {
        try await add("other 0", to: store)
        let texts = store.observe { db in try String.fetchAll(db, sql: "SELECT content FROM todo") }
        for await state in texts {
            let seen = try state.get()
            for text in seen where text.hasPrefix("mine") {
                let answer = text.replacing("mine", with: "other")
                if !seen.contains(answer) { try await add(answer, to: store) }
            }
        }
    }

    private static func add(_ content: String, to store: Store) async throws {
        try await store.write { try Todo(content: content).insert($0) }
    }

    /// Syncs with a server that never answers a push.
    private static func sync(_ store: Store) async throws {
        try await add("other 0", to: store)
        let remote = Silence(base: InMemoryRemote(InMemoryServer(schema: .planner)), store: store)
        await SyncEngine(store: store, remote: remote, reachability: ManualReachability()).run()
    }

    private struct Silence: Remote {
        let base: InMemoryRemote
        let store: Store

        func connect() async throws -> RemoteAccount { try await base.connect() }
        func pull(_ request: RemotePage.Request) async throws -> RemotePage { try await base.pull(request) }
        func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { try await base.listen(receive) }
        func push(_ push: RemotePush) async throws -> RemotePush.Answer {
            try await add("other pushes", to: store)
            try await Task.sleep(for: .seconds(3600))
            return RemotePush.Answer([])
        }
    }
}
