// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistTesting
@_spi(Internals) import OptimistWire

/// A list that may be in a space.
struct SharedList: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "list"
    static let syncRules = SyncRules(space: .own("space"))
    var id = UUID()
    var name = "Groceries"
    var space: UUID?
}

/// A to-do of such a list.
struct SharedTodo: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "todo"
    static let syncRules = SyncRules(space: .of("listID"))
    var id = UUID()
    var listID: UUID
    var content = "Buy the tickets for the concert on Friday"
    var priority = 0
}

/// The same rows in an app that shares none.
struct OwnList: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "list"
    var id = UUID()
    var name = "Groceries"
    var space: UUID?
}

struct OwnTodo: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "todo"
    var id = UUID()
    var listID: UUID
    var content = "Buy the tickets for the concert on Friday"
    var priority = 0
}

enum SharedApp {
    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE list(id BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL DEFAULT '', space BLOB);
                    CREATE TABLE todo(
                        id BLOB PRIMARY KEY NOT NULL, listID BLOB NOT NULL REFERENCES list(id) ON DELETE CASCADE,
                        content TEXT NOT NULL DEFAULT '', priority INTEGER NOT NULL DEFAULT 0);
                    CREATE INDEX todoByList ON todo(listID);
                    """)
        }
    }

    /// - Parameter isShared: Whether the tables may be in spaces.
    static func store(
        in folder: ScratchFolder, at file: URL? = nil, isShared: Bool = true, durability: Store.Durability = .normal
    ) throws -> Store {
        let shared: [any SyncedRecord.Type] = [SharedList.self, SharedTodo.self]
        return try Store(
            at: file ?? folder.file(), synced: isShared ? shared : [OwnList.self, OwnTodo.self],
            durability: durability, migrate: migrate)
    }

    static func server(isShared: Bool = true) -> InMemoryServer {
        var list = TypeSchema(columns: ["name": ColumnSchema(.string), "space": ColumnSchema(.ref)])
        var todo = TypeSchema(columns: [
            "listID": ColumnSchema(.ref, target: "list", onDelete: .cascade), "content": ColumnSchema(.string),
            "priority": ColumnSchema(.int),
        ])
        if isShared { (list.space, todo.space) = (.own("space"), .of("listID")) }
        return InMemoryServer(schema: Schema(id: "lists", types: ["list": list, "todo": todo]))
    }

    static func engine(_ store: Store, _ server: InMemoryServer, as person: String) -> SyncEngine {
        SyncEngine(
            store: store, remote: InMemoryRemote(server, person: person), reachability: ManualReachability(),
            onMassRemoval: { _ in .remove })
    }

    /// Writes lists, one in each space or all in none, and to-dos in them.
    static func fill(_ store: Store, lists: Int, todos: Int, in spaces: [UUID?]) async throws -> [UUID] {
        let made = (0..<lists).map { SharedList(space: spaces[$0 % spaces.count]) }
        try await store.write { db in
            for list in made {
                try list.insert(db)
                for number in 0..<todos { try SharedTodo(listID: list.id, priority: number % 4).insert(db) }
            }
        }
        return made.map(\.id)
    }

    static func spaces(_ count: Int, on store: Store) async throws -> [UUID] {
        var spaces: [UUID] = []
        for _ in 0..<count { spaces.append(try await store.createSpace(named: "Home", as: "Ann").id) }
        return spaces
    }
}

extension SyncEngine {
    /// Syncs until nothing is left to send.
    func settle(_ store: Store) async throws {
        repeat { _ = try await syncOnce(timeout: .seconds(600)) } while try await store.hasUnsent()
    }
}

extension Store {
    fileprivate func hasUnsent() async throws -> Bool {
        try await read {
            try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM optimist_state WHERE state = 'pending')")
        }
            ?? false
    }
}
