// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

enum PullStep: Equatable, Sendable {
    case snapshot(RemoteSnapshot.Request)
    /// If the cursor is nil: from the remote's first cursor.
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
    /// For opaque cursors only: the tables still due in this round. ``asked`` has the turn of each table's last
    /// request.
    var due: Set<String> = []
    var asked: [String: Int] = [:]

    /// Takes one snapshot after another, and then the tails of all tables from one cursor. During snapshots, complete
    /// tables get every other step.
    var step: PullStep {
        let complete = tableProgress.filter(\.isComplete)
        if let next = nextSnapshot {
            if !complete.isEmpty, followsSnapshot { return changes(of: complete) }
            return .snapshot(
                RemoteSnapshot.Request(table: next.table, at: next.at ?? notedCursor, after: next.place, limit: limit))
        }
        if complete.count == tableProgress.count, tableProgress.contains(where: \.awaitsSettling), !isAsking {
            return .removal
        }
        return tableProgress.isEmpty ? .nothing : changes(of: tableProgress)
    }

    /// Whether to take another step after a step that received a last page.
    ///
    /// - Parameter moved: Whether the step moved the cursor of its tables.
    func wantsMore(after tables: [String], moved: Bool) -> Bool {
        if tableProgress.contains(where: { !$0.isComplete || ($0.awaitsSettling && !isAsking) }) { return true }
        // Ordered cursors converge. Opaque cursors may move forever, so each table gets one turn.
        return moved && tables.count < tableProgress.count && tableProgress.allSatisfy(\.guarantees.hasOrderedCursors)
    }

    private var nextSnapshot: TableProgress? { hasSnapshots ? tableProgress.first(where: \.awaitsSnapshot) : nil }

    /// All tables of a first sync share this cursor, and therefore one tail.
    private var notedCursor: String? { tableProgress.lazy.filter { !$0.isComplete }.compactMap(\.latest).first }

    /// The tables without a cursor, or else the tables furthest behind. With opaque cursors, the tables that have
    /// waited longest.
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
