// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Decides whether a received deletion is too early for the rows below it (R2).
///
/// SQLite would delete the rows below or empty their references. So the deletion waits while a later page, or the
/// answer to a push, may still move these rows elsewhere.
struct DeletionTiming {
    let door: Door
    let context: PageContext

    /// - Parameter seq: The deletion's server transaction. Nil if unknown.
    func isTooSoon(deletionOf ref: RowRef, at seq: Int64?) throws -> Bool {
        var seen: Set<RowRef> = []
        if try isHeldBack(ref, at: seq, besides: &seen) { return true }
        var met: Set<RowRef> = [ref]
        return try areRestored(rowsBelow(ref), besides: &met)
    }

    /// - Parameter seen: The deleted rows already visited, so that a cycle of rows does not wait for itself.
    private func isHeldBack(_ ref: RowRef, at seq: Int64?, besides seen: inout Set<RowRef>) throws -> Bool {
        guard seen.insert(ref).inserted else { return false }
        let all = try rowsBelow(ref)
        if all.isEmpty { return false }
        let hasMore = context.mayHaveMore(upTo: seq)
        let isPushUnanswered = try hasMore || Meta.int(.inFlight, in: door.db) != nil
        return try all.contains { child in
            guard !seen.contains(child.ref), let below = try self.below(child) else { return false }
            // The server has also deleted this row, so the rows below it decide.
            if let end = try waitingDeletion(of: below.entry) {
                return try child.referrer.onDelete == .cascade && isHeldBack(child.ref, at: end.seq, besides: &seen)
            }
            return below.holdsBack(
                deletionAt: seq, isPushUnanswered: isPushUnanswered,
                mayMove: hasMore || mayMove(below: ref, by: child.referrer))
        }
    }

    /// The parked deletion of a row without unsent edits. A merged row does not count as deleted.
    private func waitingDeletion(of entry: RowEntry) throws -> Tombstone? {
        guard !entry.isPending, case .deleted(let end)? = try ParkedRows(door.db).content(of: entry),
            end.mergedInto == nil
        else { return nil }
        return end
    }

    /// Whether pages of a lagging table may recreate the row, or move a row that would be deleted with it.
    private func mayMove(below ref: RowRef, by referrer: ReferenceGraph.Referrer) -> Bool {
        context.lagging.contains(ref.table)
            || !door.references.goingAlong(with: referrer.layout, among: context.lagging).isEmpty
    }

    /// Whether the deletion would also delete a row that is being restored. The server has yet to decide about that
    /// row.
    private func areRestored(_ rows: [Child], besides met: inout Set<RowRef>) throws -> Bool {
        for child in rows where child.referrer.onDelete == .cascade && met.insert(child.ref).inserted {
            guard let below = try self.below(child), below.entry.wasOnServer, !below.isMoved else { continue }
            if below.entry.isRestored { return true }
            if try areRestored(rowsBelow(child.ref), besides: &met) { return true }
        }
        return false
    }

    private func rowsBelow(_ ref: RowRef) throws -> [Child] {
        try door.tables.children(of: ref, door.references).filter { $0.referrer.onDelete != .restrict }
    }

    private func below(_ child: Child) throws -> RowBelow? {
        try door.entries.entry(child.ref).map { RowBelow($0, by: child.referrer) }
    }
}

extension RowBelow {
    init(_ entry: RowEntry, by referrer: ReferenceGraph.Referrer) {
        self.init(entry: entry, layout: referrer.layout, column: referrer.column, onDelete: referrer.onDelete)
    }
}
