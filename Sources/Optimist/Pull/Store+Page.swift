// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// A page of a space, and its request.
struct SpacePage: Sendable {
    let page: RemotePage
    let ask: SpacePlan.Ask
}

extension Store {
    /// Applies a page and its cursor in one transaction (R1). A repeated or late page changes nothing.
    ///
    /// Invariant: a cursor never passes a row that is neither applied nor parked, because rows and cursor change
    /// together.
    ///
    /// - Parameters:
    ///   - origins: The ids whose counts the page must report. Nil: all ids of this device.
    ///   - served: The tables that the remote keeps. Nil: all.
    /// - Returns: Whether the page was applied, because it continues from the tables' cursors.
    func apply(
        _ page: RemotePage, to tables: [String], in scope: Int64 = Scope.personal, initialCursor: String,
        origins: [String]? = nil, served: Set<String>? = nil
    ) async throws -> Bool {
        try await apply { db in
            try self.receive(page, to: tables, in: scope, initialCursor: initialCursor, origins, served, db)
        }
    }

    /// Applies the pages of one answer, each in its space, in one transaction. A page of a space that the person has
    /// left changes nothing.
    ///
    /// - Returns: The scopes whose pages were applied.
    func apply(
        _ pages: [SpacePage], initialCursor: String, origins: [String]?, served: Set<String>?
    ) async throws -> Set<Int64> {
        if pages.isEmpty { return [] }
        return try await apply { db in
            var applied: Set<Int64> = []
            for (page, ask) in pages.map({ ($0.page, $0.ask) }) {
                let told = ask.tables.filter { page.withheld[$0] == nil }
                guard try Scope.number(ofSpace: ask.space, in: db) == ask.scope,
                    try self.receive(page, to: told, in: ask.scope, initialCursor: initialCursor, origins, served, db)
                else { continue }
                applied.insert(ask.scope)
            }
            return applied
        }
    }

    private func receive(
        _ page: RemotePage, to tables: [String], in scope: Int64, initialCursor: String, _ origins: [String]?,
        _ served: Set<String>?, _ db: Database
    ) throws -> Bool {
        if let origins, try !DeviceIdentity.areOrigins(in: db, among: origins) { return false }
        let stored = try ProgressTable(db, of: scope)
        var tableProgress = try stored.fetchAll(tables)
        guard tableProgress.allSatisfy({ ($0.cursor ?? initialCursor) == page.from }) else { return false }
        let guarantees = try Meta.guarantees(in: db)
        if !page.epochs.isEmpty, guarantees.hasOrderedCursors {
            if try self.rewind(tables, in: stored, at: page.from, to: page.epochs, db) { return false }
            // The rewind may have moved a table to the present epoch.
            tableProgress = try stored.fetchAll(tables)
        }
        if guarantees.tellMissedRows {
            for progress in tableProgress where progress.awaitsSnapshot {
                try UnseenRows.expectAll(of: progress.table, in: scope, db)
            }
        }
        let context = try PageContext(of: page, to: tables, self.layouts, stored, served: served, in: db)
        try self.receive(page.rows, context, in: db)
        let counts = page.rows.reduce(into: [:]) { $0[$1.table, default: 0] += 1 }
        for var progress in tableProgress {
            progress.advance(
                by: page, rows: counts[progress.table] ?? 0, expectsRows: try stored.expectsRows(progress))
            try stored.save(progress)
        }
        if let member = page.member { try Scope.update(scope, in: db) { $0.member = member } }
        return true
    }

    /// Applies rows within a call of `apply`. Returns how many.
    ///
    /// - Parameter isAwaited: Whether a write of the app is waiting. If so, the transaction ends early. Nil: apply all
    ///   rows.
    @discardableResult
    func receive(
        _ rows: [RemotePage.Row], _ context: PageContext, until isAwaited: (() -> Bool)? = nil, in db: Database
    ) throws -> Int {
        let now = milliseconds
        for row in rows {
            if case .row(let patch) = row.content { witness(patch.clocks) }
        }
        let application = PageApplication(layouts, db, at: now, context)
        var count = rows.count
        if let isAwaited { count = try application.apply(rows, until: isAwaited) } else { try application.apply(rows) }
        let unseen = try UnseenRows(of: layouts, in: context.scope, db)
        for row in rows.prefix(count) { try unseen.saw(row) }
        if hasSpaces { try application.releaseClaims() }
        try GroupJoins(db).forgetSettled()
        try Meta.set(.lastSync, to: now, in: db)
        return count
    }
}
