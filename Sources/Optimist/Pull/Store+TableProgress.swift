// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

extension Store {
    /// The progress of the person's own account, in snapshot order.
    package func tableProgress() async throws -> [TableProgress] {
        let order = ownTables
        return try await read { db in try ProgressTable(db).fetchAll(order) }
    }

    /// The maximum number of a snapshot's rows in one transaction. The transaction ends earlier if the app waits to
    /// write.
    private static let snapshotRowsAtOnce = 1_000

    /// Applies a part of a snapshot, and notes how far it reaches. A repeated or late part changes nothing.
    ///
    /// - Returns: Whether the part was applied, because it continues from the table's position.
    /// - Throws: `RemoteFailure.protocolError` if the part has a deleted row, or does not advance.
    func apply(
        _ page: RemoteSnapshot, of asked: RemoteSnapshot.Request, in scope: Int64 = Scope.personal
    ) async throws -> Bool {
        if !page.rows.allSatisfy(\.content.isAlive) {
            throw RemoteFailure.protocolError("The server's snapshot contains a deleted row.")
        }
        if let next = page.next, let after = asked.after, next <= after {
            throw RemoteFailure.protocolError("The server's snapshot does not advance.")
        }
        var (rest, asked) = (page, asked)
        repeat {
            guard let applied = try await applyUntilAwaited(rest, of: asked, in: scope) else { return false }
            (asked.at, asked.after) = (applied.at, applied.next)
            (rest.at, rest.epochs) = (applied.at, [])
            rest.rows.removeFirst(applied.rows.count)
        } while !rest.rows.isEmpty
        return true
    }

    /// - Returns: The applied piece, with the snapshot's noted cursor. Nil if it does not continue from the table's
    ///   position.
    private func applyUntilAwaited(
        _ page: RemoteSnapshot, of asked: RemoteSnapshot.Request, in scope: Int64
    ) async throws -> RemoteSnapshot? {
        try await apply { db in
            let stored = try ProgressTable(db, of: scope)
            guard var progress = try stored.fetch(asked.table), progress.awaitsSnapshot,
                progress.place == asked.after, (progress.at ?? asked.at) == asked.at,
                try DeviceIdentity.areOrigins(in: db, among: asked.origins)
            else { return nil }
            var page = page
            if !page.epochs.isEmpty, progress.guarantees.hasOrderedCursors {
                if try self.rewind([asked.table], in: stored, at: asked.at, to: page.epochs, db) {
                    return nil
                }
                if let at = progress.guarantees.state(of: page.at), let present = page.epochs.last {
                    page.at = at.moved(to: present.name).description
                }
            }
            // The snapshot may lack rows that the server accepts during the request. Ordered cursors identify them
            // afterwards.
            if progress.at == nil, progress.guarantees.hasOrderedCursors {
                try UnseenRows.expectAll(of: asked.table, in: scope, db)
            }
            let rows = Array(page.rows.prefix(Self.snapshotRowsAtOnce))
            let count = try self.receive(
                rows, try PageContext(of: page, scope, in: db), until: { self.isAwaited }, in: db)
            let applied = page.first(count)
            progress.advance(by: applied)
            try stored.save(progress)
            return applied
        }
    }

    /// Receives tables from the beginning, because the server has forgotten their cursor (L4). Rows remain usable, and
    /// pending ones are sent. Rows that are missing from the resync are settled at its end.
    func startResync(of tables: [String], in scope: Int64 = Scope.personal) async throws {
        try await apply { db in
            let stored = try ProgressTable(db, of: scope)
            for table in tables { try Self.startResync(of: table, in: stored, mayBeForgotten: true, db) }
        }
    }

    /// - Parameter mayBeForgotten: Whether the server may have forgotten deletions. Unless it reported that a cursor is
    ///   too old, the device assumes that it remembers them, and answers "gone" if the device sends a deleted row (M2).
    static func startResync(of table: String, in stored: ProgressTable, mayBeForgotten: Bool, _ db: Database) throws {
        guard var progress = try stored.fetch(table) else { return }
        if progress.guarantees.pagesHaveOwnChanges {
            try UnseenRows.expectAll(of: table, in: stored.scope, db)
        }
        if let known = progress.guarantees.state(of: progress.cursor) {
            try Scope.update(stored.scope, in: db) { $0.note(epoch: known.epoch) }
        }
        progress.startOver(mayBeForgotten: mayBeForgotten, hasParked: try stored.hasParked(progress))
        try stored.save(progress)
    }

    /// Expects every row that the server is known to have, for tables that were not received yet. Call this before the
    /// first request, if cursors do not show which rows the server accepts during it.
    func expectRows(of tables: [String], in scope: Int64 = Scope.personal) async throws {
        try await apply { db in
            for progress in try ProgressTable(db, of: scope).fetchAll(tables)
            where progress.awaitsSnapshot && progress.at == nil {
                try UnseenRows.expectAll(of: progress.table, in: scope, db)
            }
        }
    }

    /// Stops expecting rows, because the remote has no snapshots. Unless its pages repeat this device's own changes,
    /// deletions cannot be recognised.
    func expectNothing(of table: String, in scope: Int64 = Scope.personal) async throws {
        try await apply { db in
            if try !Meta.guarantees(in: db).pagesHaveOwnChanges {
                try UnseenRows.expectNothing(of: table, in: scope, db)
            }
        }
    }

    /// Makes the device receive some rows again. A running snapshot that has not reached these rows continues.
    /// Otherwise repeated refusals could keep the snapshot from ever finishing.
    static func receiveAnew(_ refs: [RowRef], of layouts: [TableLayout], in db: Database) throws {
        if refs.isEmpty { return }
        let entries = try RowEntryTable(db)
        let scopes = try Dictionary(grouping: refs) { try entries.entry($0)?.remote.scope ?? Scope.personal }
        for (scope, refs) in scopes {
            let stored = try ProgressTable(db, of: scope)
            for (number, refs) in Dictionary(grouping: refs, by: \.table) {
                guard let layout = layouts.first(where: { $0.number == number }), layout.isKept(in: scope) else {
                    continue
                }
                try receiveAnew(refs, of: layout, in: stored, db)
            }
        }
    }

    private static func receiveAnew(
        _ refs: [RowRef], of layout: TableLayout, in stored: ProgressTable, _ db: Database
    ) throws {
        guard let progress = try stored.fetch(layout.name),
            refs.allSatisfy({ progress.isToBring(layout.idForm.wire($0.id)) })
        else {
            return try startResync(of: layout.name, in: stored, mayBeForgotten: false, db)
        }
        for ref in refs { try UnseenRows.expect(ref, in: stored.scope, db) }
    }

    /// Receives a table from the beginning in every scope, because its values here are incomplete.
    static func receiveAnew(_ table: String, in db: Database) throws {
        for scope in try Scope.numbers(in: db) {
            try startResync(of: table, in: ProgressTable(db, of: scope), mayBeForgotten: false, db)
        }
    }

    /// Marks as complete the tables that the remote does not keep.
    func skip(tablesBut served: Set<String>) async throws {
        let isSkipped: @Sendable (TableProgress) -> Bool = {
            !served.contains($0.table) && $0.awaitsSnapshot && $0.at == nil && !$0.isComplete
        }
        let skipped = try await tableProgress().filter(isSkipped).map(\.table)
        if skipped.isEmpty { return }
        try await apply { db in
            let stored = try ProgressTable(db)
            for var progress in try stored.fetchAll(skipped) where isSkipped(progress) {
                progress.isComplete = true
                try stored.save(progress)
            }
        }
    }
}

extension RemoteSnapshot {
    fileprivate func first(_ count: Int) -> RemoteSnapshot {
        if count == rows.count { return self }
        var first = self
        first.rows = Array(rows[..<count])
        first.next = first.rows.last?.id
        return first
    }
}
