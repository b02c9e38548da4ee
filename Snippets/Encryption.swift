// This source file is part of the Optimist open source project, under the MIT licence.
//
// The code of "Encryption" in Documentation/Recipes.md.

import Foundation
import GRDB
import Optimist

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

/// The SQLite of this build cannot encrypt.
struct CannotEncrypt: Error {}

/// A store whose file is encrypted with a 32-byte key.
func openEncrypted(at url: URL, key: @escaping @Sendable () throws -> Data) throws -> Store {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
        // SQLite without SQLCipher ignores the key and would write a plaintext file.
        guard try String.fetchOne(db, sql: "PRAGMA cipher_version") != nil else { throw CannotEncrypt() }
        let digits = try key().map { String(format: "%02x", $0) }.joined()
        try db.execute(sql: "PRAGMA key = \"x'\(digits)'\"")
    }
    return try Store(at: url, synced: [Todo.self], configuration: configuration, migrate: Todo.migrate)
}

/// A store whose file is unreadable until the first unlock after the device starts.
func openProtected(at url: URL) throws -> Store {
    try Store(at: url, synced: [Todo.self], protection: .afterFirstUnlock, migrate: Todo.migrate)
}
