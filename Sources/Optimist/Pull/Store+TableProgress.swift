// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

extension Store {
    /// In snapshot order.
    package func tableProgress() async throws -> [TableProgress] {
        let order = SnapshotOrder.sorted(layouts).map(\.name)
        return try await read { db in try TableProgress.fetchAll(order, in: db) }
    }

    /// The most rows of a snapshot in one transaction. It ends earlier if the app waits to write.
    private static let snapshotRowsAtOnce = 1_000

    /// Applies a part of a snapshot, and notes how far it reaches. A repeated or late part changes nothing.
    ///
    /// - Returns: Whether the part was applied, because it continues from the table's position.
    /// - Throws: `RemoteFailure.protocolError` if the part has a deleted row, or does not advance.
    func apply(_ page: RemoteSnapshot, of asked: RemoteSnapshot.Request) async throws -> Bool {
        if !page.rows.allSatisfy(\.content.isAlive) {
            throw RemoteFailure.protocolError("The server's snapshot contains a deleted row.")
        }
        if let next = page.next, let after = asked.after, next <= after {
            throw RemoteFailure.protocolError("The server's snapshot does not advance.")
        }
        var (rest, asked) = (page, asked)
        repeat {
            guard let applied = try await applyUntilAwaited(rest, of: asked) else { return false }
            (asked.at, asked.after) = (applied.at, applied.next)
            (rest.at, rest.epochs) = (applied.at, [])
            rest.rows.removeFirst(applied.rows.count)
        } while !rest.rows.isEmpty
        return true
    }

    /// - Returns: The applied piece, with the snapshot's noted cursor. Nil if it does not continue from the table's
    ///   position.
    private func applyUntilAwaited(_ page: RemoteSnapshot, of asked: RemoteSnapshot.Request) async throws
        -> RemoteSnapshot?
    {
        try await apply { db in
            guard let progress = try TableProgress.fetchAll([asked.table], in: db).first, progress.awaitsSnapshot,
                progress.place == asked.after, (progress.at ?? asked.at) == asked.at,
                try DeviceIdentity.areOrigins(in: db, among: asked.origins)
            else { return nil }
            var page = page
            if !page.epochs.isEmpty, progress.guarantees.hasOrderedCursors {
                if try self.rewind([asked.table], at: asked.at, to: page.epochs, in: db) { return nil }
                if let at = progress.guarantees.state(of: page.at), let present = page.epochs.last {
                    page.at = at.moved(to: present.name).description
                }
            }
            // The snapshot may lack rows that the server accepts during the request. Ordered cursors identify them
            // afterwards.
            if progress.at == nil, progress.guarantees.hasOrderedCursors {
                try UnseenRows.expectAll(of: asked.table, in: db)
            }
            let rows = Array(page.rows.prefix(Self.snapshotRowsAtOnce))
            let count = try self.receive(rows, try PageContext(of: page, in: db), until: { self.isAwaited }, in: db)
            let applied = page.first(count)
            try TableProgress.record(applied, of: asked.table, in: db)
            return applied
        }
    }

    /// Receives tables from the beginning, because the server has forgotten their cursor (L4). Rows remain usable, and
    /// pending ones are sent. Rows that are missing from the resync are settled at its end.
    func startResync(of tables: [String]) async throws {
        try await apply { db in
            for table in tables { try Self.startResync(of: table, mayBeForgotten: true, in: db) }
        }
    }

    /// - Parameter mayBeForgotten: Whether the server may have forgotten deletions. Unless it reported that a cursor is
    ///   too old, the device assumes that it remembers them, and answers "gone" if the device sends a deleted row (M2).
    static func startResync(of table: String, mayBeForgotten: Bool, in db: Database) throws {
        let progress = try TableProgress.fetchAll([table], in: db).first
        let guarantees = try Meta.guarantees(in: db)
        if guarantees.pagesHaveOwnChanges { try UnseenRows.expectAll(of: table, in: db) }
        if let known = guarantees.state(of: progress?.cursor) { try note(epoch: known.epoch, in: db) }
        try TableProgress.startOver(table, mayBeForgotten: mayBeForgotten, in: db)
    }

    /// Expects every row that the server is known to have, for tables that were not received yet. Call this before the
    /// first request, if cursors do not show which rows the server accepts during it.
    func expectRows(of tables: [String]) async throws {
        try await apply { db in
            for progress in try TableProgress.fetchAll(tables, in: db)
            where progress.awaitsSnapshot && progress.at == nil {
                try UnseenRows.expectAll(of: progress.table, in: db)
            }
        }
    }

    /// Stops expecting rows, because the remote has no snapshots. Unless its pages repeat this device's own changes,
    /// deletions cannot be recognised.
    func expectNothing(of table: String) async throws {
        try await apply { db in
            if try !Meta.guarantees(in: db).pagesHaveOwnChanges { try UnseenRows.expectNothing(of: table, in: db) }
        }
    }

    /// Makes the device receive some rows again. A running snapshot that has not reached these rows continues.
    /// Otherwise repeated refusals could keep it from ever finishing.
    static func receiveAnew(_ refs: [RowRef], of layouts: [TableLayout], in db: Database) throws {
        for (number, refs) in Dictionary(grouping: refs, by: \.table) {
            guard let layout = layouts.first(where: { $0.number == number }) else { continue }
            try receiveAnew(refs, of: layout, in: db)
        }
    }

    private static func receiveAnew(_ refs: [RowRef], of layout: TableLayout, in db: Database) throws {
        let progress = try TableProgress.fetchAll([layout.name], in: db).first
        guard let progress, refs.allSatisfy({ progress.isToBring(layout.idForm.wire($0.id)) }) else {
            return try startResync(of: layout.name, mayBeForgotten: false, in: db)
        }
        for ref in refs { try UnseenRows.expect(ref, in: db) }
    }

    /// Marks tables that the remote does not keep as complete.
    func skip(tablesBut served: Set<String>) async throws {
        let skipped = try await tableProgress().filter {
            !served.contains($0.table) && $0.awaitsSnapshot && $0.at == nil && !$0.isComplete
        }
        if skipped.isEmpty { return }
        try await apply { db in
            for progress in skipped {
                try db.execute(
                    sql: "UPDATE optimist_table SET isComplete = 1 WHERE name = ?", arguments: [progress.table])
            }
        }
    }
}

extension TableProgress {
    static func fetchAll(_ tables: [String], in db: Database) throws -> [TableProgress] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT cursor, snapshot, place, isComplete, received, total, isResync, since, seen
                FROM optimist_table WHERE name = ?
                """)
        let guarantees = try Meta.guarantees(in: db)
        return try tables.compactMap { table in
            try Row.fetchOne(statement, arguments: [table]).map { row in
                TableProgress(
                    table: table, cursor: row[0], at: row[1], place: row[2], isComplete: row[3], received: row[4],
                    total: row[5], isResync: row[6], since: row[7], seen: row[8], guarantees: guarantees)
            }
        }
    }

    /// The tables that are not received up to a cursor.
    ///
    /// - Parameter served: The tables that the remote keeps. Others never lag. Nil: all.
    static func lagging(
        behind cursor: String, of layouts: [TableLayout], served: Set<String>?, in db: Database
    ) throws -> Set<Int64> {
        let some = layouts.filter { served?.contains($0.name) ?? true }
        let behind = try Set(fetchAll(some.map(\.name), in: db).filter { $0.isBehind(cursor) }.map(\.table))
        return Set(some.filter { behind.contains($0.name) }.map(\.number))
    }

    static func advance(_ table: String, by page: RemotePage, rows: Int, in db: Database) throws {
        let guarantees = try Meta.guarantees(in: db)
        try db.cachedStatement(
            sql: """
                UPDATE optimist_table SET cursor = ?1, place = NULL,
                received = CASE WHEN isComplete THEN received ELSE received + ?2 END, isComplete = isComplete OR ?3,
                since = CASE WHEN isComplete THEN since ELSE coalesce(since, ?5) END,
                seen = CASE WHEN ?3 THEN NULL ELSE max(coalesce(seen, 0), ?6) END,
                snapshot = CASE WHEN NOT (isComplete OR ?3) THEN snapshot
                WHEN EXISTS (SELECT 1 FROM optimist_unseen WHERE tbl = number) THEN coalesce(snapshot, '') END
                WHERE name = ?4
                """
        ).execute(arguments: [
            page.cursor, rows, !page.hasMore, table, guarantees.state(of: page.cursor)?.seq,
            Self.seen(page.head, guarantees),
        ])
    }

    /// If the server omits its state, assume the latest.
    private static func seen(_ head: String?, _ guarantees: RemoteGuarantees) -> Int64 {
        guarantees.state(of: head)?.seq ?? .max
    }

    /// Notes an applied part of a snapshot. The tail follows the last part.
    fileprivate static func record(_ page: RemoteSnapshot, of table: String, in db: Database) throws {
        let guarantees = try Meta.guarantees(in: db)
        try db.cachedStatement(
            sql: """
                UPDATE optimist_table SET snapshot = ?1, place = ?2, cursor = CASE WHEN ?2 IS NULL THEN ?1 END,
                received = received + ?3, total = coalesce(?4, total), isComplete = 0, since = ?6,
                seen = max(coalesce(seen, 0), ?7) WHERE name = ?5
                """
        ).execute(arguments: [
            page.at, page.next, page.rows.count, page.total, table, guarantees.state(of: page.at)?.seq,
            seen(page.head, guarantees),
        ])
    }

    /// `isResync` stays set until a resync has finished and no row of the table is parked.
    static func startOver(_ table: String, mayBeForgotten: Bool, in db: Database) throws {
        try db.execute(
            sql: """
                UPDATE optimist_table SET cursor = NULL, snapshot = NULL, place = NULL, total = NULL,
                received = CASE WHEN isComplete THEN 0 ELSE received END, isComplete = 0,
                isResync = ?2 OR (isResync AND (NOT isComplete OR snapshot IS NOT NULL
                OR EXISTS (SELECT 1 FROM optimist_parked WHERE tbl = number))),
                since = NULL, seen = NULL WHERE name = ?1
                """, arguments: [table, mayBeForgotten])
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
