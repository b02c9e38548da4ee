// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// How far one table of a scope has been received: a row of `optimist_progress`.
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
    /// While more pages are due: the remote's last transaction when it made a page. A row that changed again up to that
    /// transaction is missing, even if it also changed before the cursor. Nil: the device has exactly the state at the
    /// cursor.
    var seen: Int64?
    var guarantees = RemoteGuarantees(hasOrderedCursors: true, pagesHaveOwnChanges: true)

    var awaitsSnapshot: Bool { cursor == nil }
    var latest: String? { cursor ?? at }
    /// Whether the resync has finished, but the rows missing from it are not settled yet. Another table's resync may
    /// still be waiting, for example on an expensive network.
    var awaitsSettling: Bool { isComplete && at != nil }
    var state: SyncState? { guarantees.state(of: latest) }

    func isBehind(_ other: String) -> Bool {
        if !isComplete { return true }
        guard let cursor, cursor != other else { return false }
        // Opaque cursors cannot be compared.
        guard let mine = guarantees.state(of: cursor), let theirs = guarantees.state(of: other) else { return false }
        return mine.epoch != theirs.epoch || (mine.seq, mine.offset) < (theirs.seq, theirs.offset)
    }

    /// Whether the running snapshot has yet to reach a row. A snapshot's rows are in the order of their wire ids.
    func isToBring(_ id: String?) -> Bool {
        guard awaitsSnapshot, let id else { return false }
        return place.map { id > $0 } ?? true
    }

    // MARK: - Transitions

    /// Notes an applied page of changes.
    ///
    /// - Parameters:
    ///   - rows: How many of the page's rows belong to this table.
    ///   - expectsRows: Whether rows that the snapshot was expected to contain have not arrived.
    mutating func advance(by page: RemotePage, rows: Int, expectsRows: Bool) {
        if !isComplete {
            received += rows
            since = since ?? guarantees.state(of: page.cursor)?.seq
        }
        isComplete = isComplete || !page.hasMore
        (cursor, place) = (page.cursor, nil)
        seen = page.hasMore ? max(seen ?? 0, lastSeq(page.head)) : nil
        if isComplete { at = expectsRows ? at ?? "" : nil }
    }

    /// Notes an applied part of a snapshot. After the last part, the tail follows.
    mutating func advance(by part: RemoteSnapshot) {
        (at, place, isComplete) = (part.at, part.next, false)
        cursor = part.next == nil ? part.at : nil
        received += part.rows.count
        total = part.total ?? total
        since = guarantees.state(of: part.at)?.seq
        seen = max(seen ?? 0, lastSeq(part.head))
    }

    /// If the server omits its state, assumes the latest.
    private func lastSeq(_ head: String?) -> Int64 { guarantees.state(of: head)?.seq ?? .max }

    /// Begins again with a snapshot. ``isResync`` stays set until a resync has finished and no row of the table is
    /// parked.
    mutating func startOver(mayBeForgotten: Bool, hasParked: Bool) {
        isResync = mayBeForgotten || (isResync && (!isComplete || at != nil || hasParked))
        if isComplete { received = 0 }
        (cursor, at, place, total, since, seen, isComplete) = (nil, nil, nil, nil, nil, nil, false)
    }

    /// Moves to a state of the remote's present epoch.
    mutating func move(to state: SyncState) {
        if awaitsSnapshot { at = state.description } else { cursor = state.description }
    }

    /// Ends a resync whose missing rows are settled.
    mutating func settledMissingRows() {
        if isComplete { at = nil }
    }

    /// Forgets the deletions up to a transaction. If the remote is later restored to a point before these deletions,
    /// the rows exist again, and no device remembers their deletion.
    mutating func forgetDeletions(upTo seq: Int64) { since = since.map { max($0, seq) } }
}
