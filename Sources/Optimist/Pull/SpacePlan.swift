// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// One pass over the person's spaces: which of them the engine asks next. Pure.
///
/// The remote reports which of the complete spaces have changed. These and the incomplete ones are asked until each has
/// its last page. A space that fails is asked once more, and then left to the next pass.
struct SpacePlan: Equatable, Sendable {
    /// A space of the person, and how far its tables were received.
    struct Space: Equatable, Sendable {
        let scope: Int64
        /// The wire id.
        let id: String
        /// The tables that the remote serves, in snapshot order.
        var tableProgress: [TableProgress]
        /// Whether the app has yet to decide about a mass removal in this space.
        var isAsking = false

        /// The cursor that all tables have reached. Nil if anything else is left to do than to ask for later changes.
        var cursor: String? {
            guard let cursor = tableProgress.first?.cursor else { return nil }
            let isComplete = tableProgress.allSatisfy { $0.isComplete && $0.cursor == cursor }
            return isComplete && (isAsking || !tableProgress.contains(where: \.awaitsSettling)) ? cursor : nil
        }

        /// A cursor, to ask whether the remote still has the space. Nil if no page of it was received.
        var reached: String? { cursor ?? tableProgress.lazy.compactMap(\.cursor).first }
    }

    /// A request for the next page of a space.
    struct Ask: Equatable, Sendable {
        let scope: Int64
        let space: String
        let tables: [String]
        /// Nil: from the remote's first cursor.
        let cursor: String?
        /// Whether the page without more changes is the space's last page.
        let isOfAllTables: Bool
    }

    struct Steps: Equatable, Sendable {
        /// The scopes whose missing rows are settled first.
        var removals: [Int64] = []
        var asks: [Ask] = []
    }

    private(set) var due: Set<Int64>
    private var received: Set<Int64> = []
    private var failed: Set<Int64> = []
    /// Whether a space failed twice, so that the device has not caught up.
    private(set) var isTroubled = false

    /// - Parameter changed: The wire ids of the spaces with later changes than their cursors.
    init(_ spaces: [Space], changed: Set<String>) {
        due = Set(spaces.filter { $0.cursor == nil || changed.contains($0.id) }.map(\.scope))
    }

    /// The next steps for the due spaces: as many as fit one request.
    ///
    /// - Parameter spaces: The due spaces, the spaces that have waited longest first.
    mutating func next(_ spaces: [Space]) -> Steps {
        var (steps, calls) = (Steps(), 0)
        due.formIntersection(spaces.map(\.scope))
        for space in spaces where due.contains(space.scope) {
            let plan = PullPlan(
                tableProgress: space.tableProgress, limit: 1, hasSnapshots: false, isAsking: space.isAsking)
            switch plan.step {
            case .removal: steps.removals.append(space.scope)
            case .changes(let tables, let cursor) where !received.contains(space.scope):
                calls += tables.count
                if calls > RowSync.Limit.callsInRequest, !steps.asks.isEmpty { return steps }
                steps.asks.append(
                    Ask(
                        scope: space.scope, space: space.id, tables: tables, cursor: cursor,
                        isOfAllTables: tables.count == space.tableProgress.count))
            case .changes, .snapshot, .nothing: due.remove(space.scope)
            }
        }
        return steps
    }

    /// - Parameter hasMore: Whether the remote had more changes when it made the page.
    mutating func took(_ ask: Ask, hasMore: Bool) {
        if ask.isOfAllTables, !hasMore { received.insert(ask.scope) }
    }

    mutating func failed(_ scope: Int64) {
        if failed.insert(scope).inserted { return }
        isTroubled = true
        due.remove(scope)
    }

    /// There is nothing to ask for in this pass.
    mutating func drop(_ scope: Int64) { due.remove(scope) }
}
