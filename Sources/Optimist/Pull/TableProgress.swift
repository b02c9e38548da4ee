// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// How far one table has been received: a row of `optimist_table`.
///
/// A table starts with a snapshot, continues with the tail (the changes since the snapshot began), and is complete at
/// the end of the tail. From then on it follows the changes. A resync starts from the beginning (L4).
///
/// - Before the snapshot's first part: neither `cursor` nor `at`.
/// - During the snapshot: `at`, and `place` after the first part.
/// - In the tail: `cursor`, and `at` until missing rows are settled.
/// - Complete: `cursor` and `isComplete`.
package struct TableProgress: Equatable, Sendable {
    package let table: String
    /// Everything up to this cursor was received. Nil until the snapshot is complete.
    package var cursor: String?
    /// The snapshot's cursor, or an empty string for a snapshot without cursor. Kept until missing rows are settled.
    var at: String?
    /// The last id received of the snapshot.
    var place: String?
    package var isComplete = false
    /// The rows received before the table was complete.
    var received = 0
    /// Approximate.
    var total: Int?
    /// Whether the server may have forgotten deletions since the table was last received.
    var isResync = false
    /// The device has received all deletions since this server transaction. Nil if unknown.
    var since: Int64?
    /// While more pages are due: the remote's last transaction when it made a page. Rows changed again by that
    /// transaction are missing, even if they also changed before the cursor. Nil: the device has exactly the state at
    /// the cursor.
    var seen: Int64?
    var guarantees = RemoteGuarantees(hasOrderedCursors: true, pagesHaveOwnChanges: true)

    var awaitsSnapshot: Bool { cursor == nil }
    var latest: String? { cursor ?? at }

    func isBehind(_ other: String) -> Bool {
        if !isComplete { return true }
        guard let cursor, cursor != other else { return false }
        // Opaque cursors cannot be compared.
        guard let mine = guarantees.state(of: cursor), let theirs = guarantees.state(of: other) else { return false }
        return mine.epoch != theirs.epoch || (mine.seq, mine.offset) < (theirs.seq, theirs.offset)
    }

    /// Whether the running snapshot has yet to reach a row. Its rows are in the order of their wire ids.
    func isToBring(_ id: String?) -> Bool {
        guard awaitsSnapshot, let id else { return false }
        return place.map { id > $0 } ?? true
    }
}

enum PullStep: Equatable, Sendable {
    case snapshot(RemoteSnapshot.Request)
    /// Without a cursor: from the remote's first one.
    case changes(tables: [String], cursor: String?)
    case removal
    case nothing
}

/// Decides the engine's next request (R6). Pure.
struct PullPlan: Sendable {
    /// In snapshot order.
    var tableProgress: [TableProgress]
    var limit: Int
    var hasSnapshots = true
    /// Whether the last step was a part of a snapshot. Complete tables are then due.
    var followsSnapshot = false
    var isAsking = false
    /// For opaque cursors only: the tables still due in this round. ``asked`` orders the tables' last requests.
    var due: Set<String> = []
    var asked: [String: Int] = [:]

    /// One snapshot after another, and then the tails of all tables from one cursor. During snapshots, complete tables
    /// get every other step.
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

    /// Whether to take another step after one with a last page.
    ///
    /// - Parameter moved: Whether the step moved the cursor of its tables.
    func wantsMore(after tables: [String], moved: Bool) -> Bool {
        if tableProgress.contains(where: { !$0.isComplete || ($0.at != nil && !isAsking) }) { return true }
        // Ordered cursors converge. Opaque cursors may move forever, so each table gets one turn.
        return moved && tables.count < tableProgress.count && tableProgress.allSatisfy(\.guarantees.hasOrderedCursors)
    }

    private var nextSnapshot: TableProgress? { hasSnapshots ? tableProgress.first(where: \.awaitsSnapshot) : nil }

    /// All tables of a first sync share this cursor, and so one tail.
    private var notedCursor: String? { tableProgress.lazy.filter { !$0.isComplete }.compactMap(\.latest).first }

    /// The tables without a cursor, or else those furthest behind. With opaque cursors, the longest waiting.
    private func changes(of tableProgress: [TableProgress]) -> PullStep {
        let cursor =
            tableProgress.contains { $0.cursor == nil }
            ? nil : earliest(of: tableProgress) ?? longestWaiting(of: tableProgress)
        return .changes(tables: tableProgress.filter { $0.cursor == cursor }.map(\.table), cursor: cursor)
    }

    /// Nil if cursors are opaque.
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
