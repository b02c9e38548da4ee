// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// How far one table has been received: a row of `optimist_table`.
///
/// A table starts with a snapshot, goes on with the tail (the changes since the snapshot began), and is complete once
/// it has reached the end of that. From then on it follows the changes. A resync starts from the beginning (L4).
package struct Intake: Equatable, Sendable {
    package let table: String
    /// The cursor up to which everything was received. Nil: the snapshot is not here yet.
    package var cursor: String?
    /// The cursor that the snapshot noted, empty if it was received without one. Kept until what did not come is settled.
    var at: String?
    /// The last id that was received of the snapshot.
    var place: String?
    /// Whether the end of the tail was reached.
    package var isComplete = false
    /// How many rows have come before that.
    var received = 0
    /// How many there are, roughly.
    var total: Int?
    /// Whether the server may have forgotten which rows were deleted since the table was received before.
    var isResync = false
    /// The transaction from which on deleted rows have come too. Nil: unknown.
    var since: Int64?
    /// While more is to come: the remote's last transaction when a page was made. A row that had changed again by then
    /// is not here, although it was changed before the cursor too. Nil: everything up to the cursor is here, and
    /// nothing later.
    var seen: Int64?
    /// What the remote promises, which says whether cursors can be compared.
    var guarantees = RemoteGuarantees(hasOrderedCursors: true, pagesHaveOwnChanges: true)

    var awaitsSnapshot: Bool { cursor == nil }
    /// The cursor up to which the table was received, or the one that the running snapshot noted. Nil: it has no cursor.
    var latest: String? { cursor ?? at }

    /// Whether less was received of it than up to another table's cursor. A remote may not keep it at all.
    func isBehind(_ other: String) -> Bool {
        if !isComplete { return true }
        guard let cursor, cursor != other else { return false }
        // The device cannot tell which of two opaque cursors is later.
        guard let mine = guarantees.state(of: cursor), let theirs = guarantees.state(of: other) else { return false }
        return mine.epoch != theirs.epoch || (mine.seq, mine.offset) < (theirs.seq, theirs.offset)
    }

    /// Whether the snapshot is still to come to a row, by its id on the wire: its rows come in the order of those.
    func isToBring(_ id: String?) -> Bool {
        guard awaitsSnapshot, let id else { return false }
        return place.map { id > $0 } ?? true
    }
}

/// What the engine asks for next.
enum PullStep: Equatable, Sendable {
    case snapshot(SnapshotRequest)
    /// No cursor: from the remote's first one.
    case changes(tables: [String], cursor: String?)
    /// What the server has no longer is to go (L4).
    case removal
    case nothing
}

/// Decides what is asked for next (R6). Pure.
struct PullPlan: Sendable {
    /// The tables that can be received, in the order of their snapshots.
    var intakes: [Intake]
    var limit: Int
    var hasSnapshots = true
    /// Whether the step before was a part of a snapshot: the tables that are complete then have their turn.
    var followsSnapshot = false
    /// Whether the app is being asked about a removal.
    var isAsking = false
    /// The tables that are still to be asked for before everything has had its turn, and when each was asked for last, by a
    /// count. Only where cursors are opaque.
    var due: Set<String> = []
    var asked: [String: Int] = [:]

    /// Snapshots one table after another, then the tail of all of them from one cursor. Tables that are complete go on
    /// meanwhile, in every other step.
    var step: PullStep {
        let complete = intakes.filter(\.isComplete)
        if let next = nextSnapshot {
            if !complete.isEmpty, followsSnapshot { return changes(of: complete) }
            return .snapshot(
                SnapshotRequest(table: next.table, at: next.at ?? notedCursor, after: next.place, limit: limit))
        }
        if complete.count == intakes.count, intakes.contains(where: { $0.at != nil }), !isAsking { return .removal }
        return intakes.isEmpty ? .nothing : changes(of: intakes)
    }

    /// Whether there is another step to take after one that brought a last page.
    ///
    /// - Parameter moved: Whether the step moved the cursor of its tables.
    func wantsMore(after tables: [String], moved: Bool) -> Bool {
        if intakes.contains(where: { !$0.isComplete || ($0.at != nil && !isAsking) }) { return true }
        // Ordered cursors meet. Opaque ones may move for ever: those tables have a turn each.
        return moved && tables.count < intakes.count && intakes.allSatisfy(\.guarantees.hasOrderedCursors)
    }

    private var nextSnapshot: Intake? { hasSnapshots ? intakes.first(where: \.awaitsSnapshot) : nil }

    /// The cursor of the first sync that is under way: one for all its tables, so that their tail is one.
    private var notedCursor: String? { intakes.lazy.filter { !$0.isComplete }.compactMap(\.latest).first }

    /// The tables that stand at one cursor: those that have none, then those that are furthest behind. If cursors do
    /// not tell which those are, the tables that have waited longest.
    private func changes(of intakes: [Intake]) -> PullStep {
        let cursor = intakes.contains { $0.cursor == nil } ? nil : earliest(of: intakes) ?? longestWaiting(of: intakes)
        return .changes(tables: intakes.filter { $0.cursor == cursor }.map(\.table), cursor: cursor)
    }

    /// Nil: the cursors do not tell.
    private func earliest(of intakes: [Intake]) -> String? {
        let states = intakes.compactMap { intake in
            intake.guarantees.state(of: intake.cursor).map { (cursor: intake.cursor, seq: $0.seq) }
        }
        if states.count < intakes.count { return nil }
        return states.min { $0.seq < $1.seq }?.cursor
    }

    private func longestWaiting(of intakes: [Intake]) -> String? {
        let due = intakes.filter { self.due.contains($0.table) }
        return (due.isEmpty ? intakes : due).min { (asked[$0.table] ?? 0) < (asked[$1.table] ?? 0) }?.cursor
    }
}
