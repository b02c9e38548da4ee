// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist

/// An ordinary GRDB record. Its table syncs with the server.
struct Todo: Codable, Identifiable, SyncedRecord {
    var id = UUID()
    var title: String
    var done = false

    @Sendable static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("v1") { db in
            try db.create(table: "todo") { t in
                t.syncedID()
                t.column("title", .text).notNull().defaults(to: "")
                t.column("done", .boolean).notNull().defaults(to: false)
            }
        }
    }
}
