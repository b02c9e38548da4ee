// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// How far one table has been received: a row of `optimist_table`.
///
/// A table starts with a snapshot, goes on with the tail (the changes since the snapshot began), and is complete once
/// it has reached the end of the tail. From then on it follows the changes. A resync starts from the beginning (L4).
///
/// - Before the snapshot's first part: neither `cursor` nor `at`.
/// - During the snapshot: `at`, and `place` once a part has come.
/// - In the tail: `cursor`, and `at` until the rows that did not come are settled.
/// - Complete: `cursor` and `isComplete`.
package struct TableProgress: Equatable, Sendable {
    package let table: String
    /// The cursor up to which everything was received. Nil: the snapshot is not here yet.
    package var cursor: String?
    /// The cursor that the snapshot noted, empty if it was received without one. Kept until the rows that did not come
    /// are settled.
    var at: String?
    /// The last id that was received of the snapshot.
    var place: String?
    /// Whether the end of the tail was reached.
    package var isComplete = false
    /// How many rows came before the table was complete.
    var received = 0
    /// How many rows the table has on the remote, roughly.
    var total: Int?
    /// Whether the server may have forgotten which rows were deleted since the table was received before.
    var isResync = false
    /// The server's transaction from which on the device has received deletions too. Nil: unknown.
    var since: Int64?
    /// The remote's last transaction when a page was made, as long as more is to come. A row that had changed again by
    /// then is not here, although it was also changed before the cursor. Nil: everything up to the cursor is here, and
    /// nothing later.
    var seen: Int64?
    /// The remote's guarantees, which say whether cursors can be compared.
    var guarantees = RemoteGuarantees(hasOrderedCursors: true, pagesHaveOwnChanges: true)

    var awaitsSnapshot: Bool { cursor == nil }
    /// The cursor up to which the table was received, or the one that the running snapshot noted. Nil: it has no cursor.
    var latest: String? { cursor ?? at }

    /// Whether this table has been received less far than up to another table's cursor. The remote may not keep this
    /// table at all.
    func isBehind(_ other: String) -> Bool {
        if !isComplete { return true }
        guard let cursor, cursor != other else { return false }
        // The device cannot tell which of two opaque cursors is later.
        guard let mine = guarantees.state(of: cursor), let theirs = guarantees.state(of: other) else { return false }
        return mine.epoch != theirs.epoch || (mine.seq, mine.offset) < (theirs.seq, theirs.offset)
    }

    /// Whether the snapshot has still to reach a row. Its rows come in the order of their ids on the wire.
    ///
    /// - Parameter id: The row's id on the wire.
    func isToBring(_ id: String?) -> Bool {
        guard awaitsSnapshot, let id else { return false }
        return place.map { id > $0 } ?? true
    }
}

/// What the engine asks for next.
enum PullStep: Equatable, Sendable {
    case snapshot(RemoteSnapshot.Request)
    /// Without a cursor: from the remote's first one.
    case changes(tables: [String], cursor: String?)
    /// The rows that the server no longer has must be removed (L4).
    case removal
    case nothing
}

/// Decides what the engine asks for next (R6). Pure.
struct PullPlan: Sendable {
    /// The tables that can be received, in the order of their snapshots.
    var tableProgress: [TableProgress]
    var limit: Int
    var hasSnapshots = true
    /// Whether the step before was a part of a snapshot. It is then the turn of the complete tables.
    var followsSnapshot = false
    /// Whether the app is being asked about a removal.
    var isAsking = false
    /// The tables that the engine must still ask for before every table has had its turn. ``asked`` counts when it last
    /// asked for each table. Both are used only where cursors are opaque.
    var due: Set<String> = []
    var asked: [String: Int] = [:]

    /// The next step. The engine takes snapshots of one table after another, and then the tail of all of them from one
    /// cursor. Meanwhile, complete tables go on in every other step.
    var step: PullStep {
        let complete = tableProgress.filter(\.isComplete)
        if let next = nextSnapshot {
            if !complete.isEmpty, followsSnapshot { return changes(of: complete) }
            return .snapshot(
                RemoteSnapshot.Request(table: next.table, at: next.at ?? notedCursor, after: next.place, limit: limit))
        }
        if complete.count == tableProgress.count, tableProgress.contains(where: { $0.at != nil }), !isAsking {
            return .removal
        }
        return tableProgress.isEmpty ? .nothing : changes(of: tableProgress)
    }

    /// Whether there is another step to take after one that brought a last page.
    ///
    /// - Parameter moved: Whether the step moved the cursor of its tables.
    func wantsMore(after tables: [String], moved: Bool) -> Bool {
        if tableProgress.contains(where: { !$0.isComplete || ($0.at != nil && !isAsking) }) { return true }
        // Ordered cursors come to one point. Opaque cursors may move forever, so each table has one turn.
        return moved && tables.count < tableProgress.count && tableProgress.allSatisfy(\.guarantees.hasOrderedCursors)
    }

    private var nextSnapshot: TableProgress? { hasSnapshots ? tableProgress.first(where: \.awaitsSnapshot) : nil }

    /// The cursor of the first sync that is under way. All its tables share it, so that they have one tail.
    private var notedCursor: String? { tableProgress.lazy.filter { !$0.isComplete }.compactMap(\.latest).first }

    /// The tables that stand at one cursor: those that have no cursor or else those that are furthest behind. If
    /// cursors do not tell which those are, the tables that have waited longest.
    private func changes(of tableProgress: [TableProgress]) -> PullStep {
        let cursor =
            tableProgress.contains { $0.cursor == nil }
            ? nil : earliest(of: tableProgress) ?? longestWaiting(of: tableProgress)
        return .changes(tables: tableProgress.filter { $0.cursor == cursor }.map(\.table), cursor: cursor)
    }

    /// The earliest cursor. Nil: the cursors do not tell.
    private func earliest(of tableProgress: [TableProgress]) -> String? {
        let states = tableProgress.compactMap { progress in
            progress.guarantees.state(of: progress.cursor).map { (cursor: progress.cursor, seq: $0.seq) }
        }
        if states.count < tableProgress.count { return nil }
        return states.min { $0.seq < $1.seq }?.cursor
    }

    private func longestWaiting(of tableProgress: [TableProgress]) -> String? {
        let due = tableProgress.filter { self.due.contains($0.table) }
        return (due.isEmpty ? tableProgress : due).min { (asked[$0.table] ?? 0) < (asked[$1.table] ?? 0) }?.cursor
    }
}
