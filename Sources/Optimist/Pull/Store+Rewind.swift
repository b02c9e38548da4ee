// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

extension Store {
    /// Handles a remote whose database went back (L3). Tables return to the last point in common with the remote, and
    /// everything confirmed later is pending again. No row leaves the app's tables.
    ///
    /// - Parameters:
    ///   - asked: The requested tables. Other tables also return, as far as the answer locates them, because the epochs
    ///     are noted for all tables.
    ///   - cursor: The request's cursor, if any.
    func rewind(
        _ asked: [String], in scope: Int64 = Scope.personal, at cursor: String?, to epochs: [RemoteEpoch]
    ) async throws {
        try await apply { db in
            _ = try self.rewind(asked, in: ProgressTable(db, of: scope), at: cursor, to: epochs, db)
        }
        writes.send()
    }

    /// - Returns: Whether a requested table was rewound, so that the answer is void.
    func rewind(
        _ asked: [String], in stored: ProgressTable, at cursor: String?, to epochs: [RemoteEpoch], _ db: Database
    ) throws -> Bool {
        let guarantees = try Meta.guarantees(in: db)
        guard guarantees.hasOrderedCursors else {
            // These cursors do not show where the histories separate.
            for table in asked { try Self.startResync(of: table, in: stored, mayBeForgotten: true, db) }
            return !asked.isEmpty
        }
        var scope = try Scope.fetch(stored.scope, in: db)
        let lineage = Lineage(mine: scope.epochs, theirs: epochs)
        let from = guarantees.state(of: cursor)
        // A table without state, for example during a resync, counts as being in the last noted epoch.
        let latest = lineage.mine.last.map { SyncState(epoch: $0.name, seq: .max) } ?? from
        var restoration = try Restoration(layouts, scope, db, at: milliseconds)
        let counting = Set(layouts.filter { !$0.rules.counters.isEmpty }.map(\.name))
        var wentBack = false
        for var progress in try stored.fetchAll(layouts.map(\.name)) {
            let isAsked = asked.contains(progress.table)
            guard let known = progress.state ?? latest,
                isAsked || known.epoch == from?.epoch || lineage.tells(of: known, afterAsking: from)
            else { continue }
            let common = lineage.common(with: known)
            guard let layout = layout(named: progress.table) else { continue }
            let hasDropped = try restoration.restore(layout, after: common, before: known.seq)
            scope.rememberDeletedRows(after: common)
            guard let state = progress.state else { continue }
            // While more pages are due, the table is in a state that the server never had. The table lacks the parked
            // rows that were forgotten, and the earlier version of a row whose later changes the server lost.
            let isWhole = !hasDropped && progress.seen.map { common >= $0 } ?? true
            if let present = epochs.last, isWhole, common >= state.seq {
                progress.move(to: state.moved(to: present.name))
                try stored.save(progress)
                continue
            }
            wentBack = wentBack || isAsked
            // The device lacks rows that were deleted before its snapshot and now exist again. It also cannot compute a
            // counter without the other devices' counts that the server lost. It also lacks a row that had left for a
            // space which has ended here.
            if let present = epochs.last, isWhole, !progress.awaitsSnapshot, let since = progress.since,
                since <= common, layout.rules.space == nil,
                !counting.contains(progress.table)
            {
                // Even at the start of the present epoch, the device has some rows.
                progress.move(to: SyncState(epoch: present.name, seq: common, begun: common == 0 ? 0 : nil))
            } else {
                // The server can no longer report that the cursor was too old.
                progress.startOver(mayBeForgotten: true, hasParked: try stored.hasParked(progress))
            }
            try stored.save(progress)
        }
        scope.epochs = lineage.theirs
        try Scope.update(stored.scope, in: db) { $0 = scope }
        try WaitTable(db).release(.restarted)
        return wentBack
    }

    /// A cursor in the last epoch that the device knows, for the request after the first answer. The first request has
    /// no cursor, so its answer does not report epochs. Nil if that epoch is unknown, or is the present one.
    func cursorOfFormerLife(than state: String, in scope: Int64 = Scope.personal) async throws -> String? {
        let (guarantees, last) = try await read { db in
            (try Meta.guarantees(in: db), try Scope.fetch(scope, in: db).epochs.last?.name)
        }
        guard let present = guarantees.state(of: state)?.epoch, let known = last, known != present
        else { return nil }
        return SyncState(epoch: known, seq: .max).description
    }
}

extension SyncState {
    func moved(to epoch: String) -> SyncState {
        var state = self
        state.epoch = epoch
        return state
    }
}
