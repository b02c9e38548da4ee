// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

extension Store {
    /// Returns the synced tables that stand at the earliest cursor, that cursor, and whether these are all tables.
    /// No cursor: nothing was received yet.
    ///
    /// - Parameter served: The tables that the remote keeps. Nil: all.
    func nextPull(of served: Set<String>? = nil) async throws -> (tables: [String], cursor: String?, isAll: Bool) {
        let withheld = network.withheld(of: layouts)
        let names = layouts.filter { !withheld.contains($0) }.map(\.name).filter { served?.contains($0) ?? true }
        return try await read { db in
            let rows = try Row.fetchAll(db, sql: "SELECT name, cursor FROM optimist_table ORDER BY number")
            let cursors = rows.map { (name: $0[0] as String, cursor: $0[1] as String?) }.filter {
                names.contains($0.name)
            }
            let known = cursors.compactMap(\.cursor)
            let earliest =
                known.count < cursors.count ? nil : known.min { (SyncState($0)?.seq ?? 0) < (SyncState($1)?.seq ?? 0) }
            let tables = cursors.filter { $0.cursor == earliest }.map(\.name)
            return (tables, earliest, tables.count == cursors.count)
        }
    }

    /// Applies a page and its cursor in one transaction (R1). A page that comes twice or late changes nothing.
    ///
    /// - Returns: Whether the page was the one that follows what is here.
    @discardableResult
    func apply(_ page: Page, to tables: [String], initialCursor: String) async throws -> Bool {
        let now = milliseconds
        return try await apply { db in
            guard try Self.follows(page, tables, initialCursor, in: db) else { return false }
            for row in page.rows {
                if case .row(let patch) = row.content { self.witness(patch.clocks) }
            }
            try PageApplication(self.layouts, db, at: now).apply(page.rows)
            for table in tables {
                try db.execute(
                    sql: "UPDATE optimist_table SET cursor = ? WHERE name = ?", arguments: [page.cursor, table])
            }
            try Meta.set(.lastSync, to: now, in: db)
            return true
        }
    }

    private static func follows(_ page: Page, _ tables: [String], _ initialCursor: String, in db: Database) throws
        -> Bool
    {
        try tables.allSatisfy { table in
            let cursor = try String.fetchOne(
                db, sql: "SELECT cursor FROM optimist_table WHERE name = ?", arguments: [table])
            return (cursor ?? initialCursor) == page.from
        }
    }

    /// Starts receiving from the beginning, after the server forgot the cursor. Nothing pending is touched.
    func forgetCursors() async throws {
        try await apply { db in
            try db.execute(sql: "UPDATE optimist_table SET cursor = NULL; UPDATE optimist_row SET seq = 0")
        }
    }

    /// Binds the file to an account, or checks that it is the one that it is bound to (L2).
    ///
    /// - Throws: `OptimistError` with code `otherAccount`.
    func bind(to account: String) async throws {
        try await apply { db in
            switch try Meta.string(.account, in: db) {
            case nil: try Meta.set(.account, to: account, in: db)
            case account: break
            default:
                throw OptimistError(
                    .otherAccount,
                    "This file holds the data of another account. Open a file of its own for each account.",
                    remedy: .signIn)
            }
        }
    }
}
