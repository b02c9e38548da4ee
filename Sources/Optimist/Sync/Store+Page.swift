// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

extension Store {
    /// Applies a page and its cursor in one transaction (R1). A page that comes twice or late changes nothing.
    ///
    /// - Returns: Whether the page was the one that follows what is here.
    @discardableResult
    func apply(_ page: Page, to tables: [String], initialCursor: String) async throws -> Bool {
        try await receive(
            page.rows,
            if: { db in
                try Intake.fetchAll(tables, in: db).allSatisfy { ($0.cursor ?? initialCursor) == page.from }
            },
            then: { db in
                let counts = page.rows.reduce(into: [:]) { $0[$1.table, default: 0] += 1 }
                for table in tables {
                    try Intake.advance(table, to: page.cursor, rows: counts[table] ?? 0, isEnd: !page.hasMore, in: db)
                }
            })
    }

    /// Applies rows of the server's, and whatever records how far they reach, in one transaction.
    ///
    /// - Returns: Whether the rows are the ones that follow what is here. Otherwise nothing is changed.
    func receive(
        _ rows: [PageRow], if follows: @escaping @Sendable (Database) throws -> Bool,
        then record: @escaping @Sendable (Database) throws -> Void
    ) async throws -> Bool {
        let now = milliseconds
        return try await apply { db in
            guard try follows(db) else { return false }
            let unseen = try UnseenRows(of: self.layouts, in: db)
            for row in rows {
                if case .row(let patch) = row.content { self.witness(patch.clocks) }
                try unseen.saw(row)
            }
            try PageApplication(self.layouts, db, at: now).apply(rows)
            try record(db)
            try Meta.set(.lastSync, to: now, in: db)
            return true
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
