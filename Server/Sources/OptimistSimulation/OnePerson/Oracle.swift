// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Decides which outcomes of a write the published rules allow. It uses the server's order, and the versions that each
/// device had read.
///
/// The server may lack a written value only if
/// - the device that wrote the value later replaced or deleted it (S1),
/// - the server refused it (V2, V5),
/// - the server had a later value (M1), or
/// - the life of the row, of a row above it or of a row that it refers to ended, unknown to the device (M2, M6).
struct Oracle {
    let history: History
    let clocksAreRight: Bool
    /// Whether the server has purged tombstones.
    var hasForgotten = false
    /// Nil while the world runs: every row that the server may refuse then counts as refused.
    var kept: Kept?

    private var log: ServerLog { history.log }

    func mayLack(_ cell: Cell, of number: Int) -> Bool {
        let target = Tables.target(of: cell.value, in: cell.column, of: cell.row.table)
        return isReplaced(cell, of: number) || kept?.refuses(cell) == true || isOvertaken(cell, of: number)
            || mayBeGone(cell.row, for: number) || target.map { mayBeGone($0, for: number) } == true
    }

    // MARK: - Sending

    /// Whether the device itself replaced or deleted the value later (S1). If the outcome of that later write is
    /// unknown, the write counts only if its own value is accounted for.
    private func isReplaced(_ cell: Cell, of number: Int) -> Bool {
        if wasDeletedLater(cell.row, than: number) { return true }
        return history.laterWrites(of: cell.row, than: number).contains { later, write in
            guard let value = write.cells[cell.row]?[cell.column] else { return false }
            return write.hasReturned || accounts(for: Cell(row: cell.row, column: cell.column, value: value), of: later)
        }
    }

    /// Whether the device itself deleted the row later. If the outcome of the deletion is unknown, it counts only if
    /// the server may never have received the row.
    private func wasDeletedLater(_ row: RowName, than number: Int) -> Bool {
        history.laterWrites(of: row, than: number).contains { _, write in
            write.deleted.contains(row) && (write.hasReturned || log.hasGoneBack || log.versions(of: row).isEmpty)
        }
    }

    private func accounts(for cell: Cell, of number: Int) -> Bool {
        log.present[cell.row]?[cell.column] == .some(cell.value) || mayLack(cell, of: number)
    }

    // MARK: - Merging

    /// Whether the server had a later value (M1).
    ///
    /// Only texts show which value was later, because a device does not send a value that the server has (W3).
    private func isOvertaken(_ cell: Cell, of number: Int) -> Bool {
        log.versions(of: cell.row).contains { version in
            guard let other = version.changed.first(where: { $0.column == cell.column }), other.value != cell.value
            else { return false }
            guard clocksAreRight, cell.isText, let clock = version.row.clocks?[cell.column] else {
                return !isEarlier(other, than: number)
            }
            return clock.stamp.milliseconds + 1 >= history.writes[number].at
        }
    }

    /// Whether every write of a value, to this row or to a row that was merged with it, is an earlier write of the same
    /// device.
    private func isEarlier(_ cell: Cell, than number: Int) -> Bool {
        let writers = log.merged(with: cell.row).flatMap {
            history.writers(of: Cell(row: $0, column: cell.column, value: cell.value))
        }
        return !writers.isEmpty
            && writers.allSatisfy { $0.number < number && !$0.write.isApart(from: history.writes[number]) }
    }

    /// Whether a row may be gone although a device wrote it: the row's life ended unread, the device deleted the row
    /// later, or one of these is true of a row above it (M2, M6). While the world runs, the server may also lack the
    /// row because the row refers to a missing row, or has a text that the server refuses (V5).
    private func mayBeGone(_ row: RowName, for number: Int) -> Bool {
        var met: Set<RowName> = []
        return mayBeGone(row, for: number, &met)
    }

    private func mayBeGone(_ row: RowName, for number: Int, _ met: inout Set<RowName>) -> Bool {
        guard met.insert(row).inserted else { return false }
        if hasEndedUnread(row, for: number) || wasDeletedLater(row, than: number) { return true }
        return history.writes(of: row).contains { other, write in
            (write.cells[row] ?? [:]).contains { column, value in
                if kept == nil, value?.hasPrefix(Refusals.prefix) == true { return true }
                let above = Tables.target(of: value, in: column, of: row.table, on: kept == nil ? nil : .cascade)
                return above.map { mayBeGone($0, for: other, &met) } == true
            }
        }
    }

    private func hasEndedUnread(_ row: RowName, for number: Int) -> Bool {
        let write = history.writes[number]
        let position = write.read[row] ?? 0
        return log.versions(of: row, after: position).contains { version in
            version.endsLife && !isOutlived(version, by: write, in: log.version(of: row, at: position))
        }
    }

    /// Whether an edit keeps the row, because the edit is later than the deletion of the edited life (M2). The server
    /// cannot compare an edit with a deletion that the server has forgotten (M6).
    private func isOutlived(_ end: ServerLog.Version, by write: History.Write, in life: ServerLog.Version?) -> Bool {
        guard Tables.editWins(in: end.row.name.table), clocksAreRight, !hasForgotten, let life,
            let deletion = end.row.clocks?.common
        else { return false }
        return !write.inserted.contains(end.row.name) && life.row.generation + 1 == end.row.generation
            && deletion.stamp.milliseconds + 1 < write.at
    }

    // MARK: - Deletions

    /// Whether a row that a device deleted still has the life that the device knew.
    func isBack(_ row: RowName, of number: Int) -> Bool {
        guard log.present[row] != nil, kept?.refused[row] == nil else { return false }
        let position = history.writes[number].read[row] ?? 0
        let hasEnded = log.versions(of: row, after: position).contains { $0.endsLife && !$0.isLost }
        return !hasEnded && log.version(of: row, at: position)?.row.values != nil
    }

    /// Whether a user inserted the row again after a deletion. In a table where edits win, an edit after the deletion
    /// counts as well. If the server was restored or has forgotten deletions, it also accepts rows from devices (L3,
    /// L4).
    func mayLiveAgain(_ version: ServerLog.Version) -> Bool {
        let row = version.row.name
        if log.hasGoneBack || !clocksAreRight || hasForgotten && version.former?.values == nil { return true }
        let ends = log.versions(of: row).filter { $0.row.values == nil }.map {
            $0.row.clocks?.common?.stamp.milliseconds ?? 0
        }
        let writes = history.writes(of: row).map(\.write)
        let deletions = writes.filter { $0.deleted.contains(row) }.map(\.at) + ends
        return writes.contains { write in
            let isEdit = Tables.editWins(in: row.table) && (write.cells[row] != nil || write.counts[row] != nil)
            return (isEdit || write.inserted.contains(row)) && deletions.contains { $0 <= write.at + 1 }
        }
    }

    // MARK: - Origins

    /// Whether a served value is null, a count, written by a user, or the row that a reference's target was merged into.
    func isWritten(_ cell: Cell) -> Bool {
        guard let kind = Tables.column(cell.column, of: cell.row.table)?.kind, kind != .counter, cell.value != nil
        else {
            return true
        }
        // After a merge, the server applies edits of the former row to the row that remains.
        let rows = kind == .uniqueName ? history.byRow.keys.filter { $0.table == cell.row.table } : [cell.row]
        let target = Tables.target(of: cell.value, in: cell.column, of: cell.row.table)
        return rows.contains { !history.writers(of: Cell(row: $0, column: cell.column, value: cell.value)).isEmpty }
            || target.map { log.merged(with: $0).count > 1 } == true
    }
}
