// This source file is part of the Optimist open source project, under the MIT licence.
//
// The code of the articles on conflicts, accounts, schema changes and initial rows, in Sources/Optimist/Optimist.docc.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistSession

struct Note: Codable, Identifiable, SyncedRecord {
    static let syncRules = SyncRules(editWins: true)

    var id = UUID()
}

struct Photo: Codable, Identifiable, SyncedRecord {
    static let syncRules = SyncRules(counters: ["likes"])

    var id = UUID()
    var likes = 0
}

struct Todo: Codable, Identifiable, SyncedRecord {
    static let syncRules = SyncRules(
        formerColumns: ["title": "caption"], formerNames: ["picture"])

    var id = UUID()
    var title: String
}

struct Folder: Codable, Identifiable, SyncedRecord {
    var id = UUID()
    var title: String?

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("folder") { db in
            try db.create(table: "folder") { t in
                t.syncedID()
                t.column("title", .text)
            }
            try db.execute(sql: "INSERT INTO folder(id) VALUES (x'6f1c0e4a8b5d4c1f9d3e2a7b5c8d9e0f')")
        }
    }
}

func like(_ id: UUID, in store: Store) async throws {
    try await store.write { db in
        try db.execute(sql: "UPDATE photo SET likes = likes + 1 WHERE id = ?", arguments: [id])
    }
}

func restoreDeleted(in store: Store) async throws {
    for conflict in try await store.conflicts() where conflict.reason == .deleted {
        // This is an ordinary write: it is pending until it is sent.
        try await store.restore(conflict)
    }
}

func openFor(
    _ account: Account, on server: URL, in folder: URL, migrate: (inout DatabaseMigrator) -> Void
) async throws -> Store {
    let files = AccountFiles(at: folder)
    var store = try Store(at: files.unclaimed, synced: [Todo.self], migrate: migrate)
    // After the sign-in. The file must be closed before the account claims it.
    try await store.close()
    try files.claim(for: account.id, on: server)
    store = try Store(
        at: files.file(of: account.id, on: server), synced: [Todo.self], migrate: migrate)
    return store
}

func signUp(
    _ email: String, _ password: String, with session: Session, offerToSignIn: (String) -> Void
) async throws {
    do {
        try await session.signUp(email: email, password: password)
    } catch let error as OptimistError where error.code == .emailTaken {
        offerToSignIn(error.message)
    }
}
