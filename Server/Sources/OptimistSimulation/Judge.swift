// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// A rejection on a device.
struct Refused {
    var kind: String
    var values: [String: String?]
}

/// Compares the end of a run with the history. Every finding is a broken promise.
struct Judge {
    let history: History
    let server: [RowName: Values]
    let clocksAreRight: Bool
    /// Whether the server has purged tombstones, so that edits of other devices can recreate rows.
    let hasForgotten: Bool
    let refused: [RowName: [Refused]]
    /// The counts in the devices' journals, which were lost with their rows.
    let journaled: [RowName: Int64]
    let fates: Fates

    init(
        history: History, server: [RowName: Values], clocksAreRight: Bool, hasForgotten: Bool,
        refused: [RowName: [Refused]], journaled: [RowName: Int64]
    ) {
        self.history = history
        self.server = server
        self.clocksAreRight = clocksAreRight
        self.hasForgotten = hasForgotten
        self.refused = refused
        self.journaled = journaled
        fates = Fates(history)
    }

    /// Finds values that were lost, restored or invented.
    func findings() -> [String] {
        var findings: [String] = []
        for (number, write) in history.writes.enumerated() where write.hasReturned {
            for (row, cells) in write.cells.sorted(by: { $0.key < $1.key }) {
                for (column, value) in cells.sorted(by: { $0.key < $1.key }) {
                    if let reason = loss(of: value, column, row, number, write) {
                        findings.append(
                            "lost: \(row).\(column) = \(value ?? "null") of device \(write.device): \(reason)")
                    }
                }
            }
            for row in write.deleted.sorted() where isBackForNoReason(row, number, write) {
                findings.append("back again: \(row), which device \(write.device) deleted at \(write.at) ms")
            }
        }
        for (row, values) in server.sorted(by: { $0.key < $1.key }) {
            for (column, value) in values.sorted(by: { $0.key < $1.key }) where isInvented(value, column, row) {
                findings.append("invented: \(row).\(column) = \(value ?? "null")")
            }
        }
        let counters = CounterJudge(
            history: history, server: server, refused: refused, journaled: journaled, fates: fates,
            hasForgotten: hasForgotten)
        return findings + counters.findings()
    }

    // MARK: - Lost

    /// Returns why a value was lost, or nil if the final state explains it.
    private func loss(
        of value: String?, _ column: String, _ row: RowName, _ number: Int, _ write: History.Write
    ) -> String? {
        if isRefused(value, column, row) { return nil }
        if value?.hasPrefix(Refusals.prefix) == true { return lossOfRefused(column, row, number) }
        if wasReplacedAndRefused(column, row, number, write) { return nil }
        guard let final = server[row] else { return lossOfRow(row, number, write) }
        guard let last = final[column], last != value else { return nil }
        if isConsequence(last, in: column, of: row) { return nil }
        if isTakenBack(last, column, row, number, was: value) { return nil }
        if isBackWithoutWhatWasDeleted(row, number) || isBackWithoutWhatEnded(row, write) { return nil }
        if isBackWithCount(last, column, row, number, was: value) { return nil }
        let others = fates.namesakes(of: row).flatMap { one in
            history.writes(of: one).filter { other in
                other.number != number && wrote(last, column, one, in: other.write)
                    && (hasForgotten || other.write.isApart(from: write) || other.number > number)
            }
        }
        if others.isEmpty { return "the server has \(last ?? "null"), which no other write set" }
        // Texts are unique, so the time of the last writer is known.
        guard clocksAreRight, !fates.mortal.contains(row), let last, last.contains("w") else { return nil }
        return others.contains { $0.write.at >= write.at } ? nil : "the server has \(last), which is older"
    }

    /// Whether a write gave a column this value.
    ///
    /// An older app does not write every column. In a new row, such a column is null or has the value of the row's
    /// previous life (L1).
    private func wrote(_ value: String?, _ column: String, _ row: RowName, in write: History.Write) -> Bool {
        if let written = write.cells[row]?[column] { return written == value }
        guard write.inserted.contains(row) else { return false }
        return value == nil || history.writes(of: row).contains { $0.write.cells[row]?[column] == .some(value) }
    }

    /// Whether a row returned to its former owner, because its device had put it under a deleted one (R2).
    private func isTakenBack(
        _ last: String?, _ column: String, _ row: RowName, _ number: Int, was value: String?
    ) -> Bool {
        guard let owner = Tables.target(of: value, in: column, of: row.table, on: .cascade),
            fates.mortal.contains(owner)
        else { return false }
        return history.writes(of: row).contains {
            $0.number < number && !$0.write.isApart(from: history.writes[number])
                && wrote(last, column, row, in: $0.write)
        }
    }

    /// Whether a row may be back as it was before its own device deleted it: by an edit of another device (M2), or
    /// because the device was restored to a file where the row was unsent. Rows deleted before they are sent leave no
    /// trace (S1).
    private func isBackWithoutWhatWasDeleted(_ row: RowName, _ number: Int) -> Bool {
        let write = history.writes[number]
        guard row.table == "memo" || history.restored.contains(write.device) else { return false }
        return history.writes(of: row).contains {
            $0.number > number && !$0.write.isApart(from: write) && $0.write.deleted.contains(row)
        }
    }

    /// Whether a row may be back as it was before an edit that a later deletion ended: by a later edit of another
    /// device (M2), or by one that was unsent when the server was restored.
    private func isBackWithoutWhatEnded(_ row: RowName, _ write: History.Write) -> Bool {
        guard row.table == "memo" || isKeptByEdits(row) else { return false }
        let writes = history.writes(of: row).map(\.write)
        return writes.contains { deletion in
            deletion.deleted.contains(row) && isLate(deletion, after: write)
                && writes.contains {
                    $0.isApart(from: deletion) && $0.device != write.device
                        && (isKeptByEdits(row) || isLate($0, after: deletion))
                }
        }
    }

    /// Whether a row may have reverted to its state before a merge by a unique name. This happens if the server was
    /// restored while another device had unsent counts for the row: that device recreates it (decision 18).
    private func isBackWithCount(
        _ last: String?, _ column: String, _ row: RowName, _ number: Int, was value: String?
    ) -> Bool {
        guard isKeptByEdits(row), let value, Tables.column(column, of: row.table)?.kind == .uniqueName else {
            return false
        }
        let isAnothers = history.byRow.keys.contains { other in
            other != row && other.table == row.table
                && history.writes(of: other).contains { $0.write.cells[other]?[column] == .some(value) }
        }
        let writes = history.writes(of: row)
        return isAnothers
            && writes.contains { $0.write.counts[row] != nil && $0.write.isApart(from: history.writes[number]) }
            && writes.contains { $0.number < number && wrote(last, column, row, in: $0.write) }
    }

    private func isLate(_ write: History.Write, after other: History.Write) -> Bool {
        !clocksAreRight || write.at >= other.at
    }

    /// After a restore of the server, devices receive tables with counters again, and keep edits of rows that are gone
    /// (L4).
    private func isKeptByEdits(_ row: RowName) -> Bool {
        history.hasServerGoneBack && Tables.columns[row.table]?.contains { $0.kind == .counter } == true
    }

    /// Whether a rejection contains the value, or a reference's later value: the target may have been deleted or merged
    /// before the row was sent.
    private func isRefused(_ value: String?, _ column: String, _ row: RowName) -> Bool {
        (refused[row] ?? []).compactMap { $0.values[column] }
            .contains { $0 == value || isConsequence($0, in: column, of: row) }
    }

    /// Whether the device's later value was refused, alone or with the row's create, or its deletion of the row was
    /// refused. Either restores the server's row.
    private func wasReplacedAndRefused(_ column: String, _ row: RowName, _ number: Int, _ write: History.Write) -> Bool
    {
        guard let refused = refused[row] else { return false }
        let wasWhole = refused.contains { $0.kind == "create" }
        return history.writes(of: row).contains { other in
            guard other.number > number, other.write.device == write.device else { return false }
            if other.write.deleted.contains(row), refused.contains(where: { $0.kind == "delete" }) { return true }
            guard let later = other.write.cells[row]?[column] else { return false }
            return wasWhole || isRefused(later, column, row)
        }
    }

    /// A value that the server refuses must end in a rejection, unless it was replaced first.
    private func lossOfRefused(_ column: String, _ row: RowName, _ number: Int) -> String? {
        let wasReplaced = history.writes(of: row).contains { other in
            other.number != number && (other.write.deleted.contains(row) || other.write.cells[row]?[column] != nil)
        }
        return wasReplaced || fates.mortal.contains(row) ? nil : "the server refused it without a rejection"
    }

    private func lossOfRow(_ row: RowName, _ number: Int, _ write: History.Write) -> String? {
        let deletions = history.writes(of: row).filter { $0.write.deleted.contains(row) }
        // After a restore of the server, an older deletion is new to it.
        if hasForgotten, history.hasServerGoneBack, !deletions.isEmpty { return nil }
        let isExplained =
            fates.mortal.contains(row)
            && (isMortalOtherwise(row)
                || deletions.contains { $0.write.isApart(from: write) || $0.number >= number })
        if !isExplained { return "the row is missing, but no device deleted it" }
        // An edit survives a deletion of its own life, but the history does not show which life a deletion ended (M2).
        if history.writes(of: row).contains(where: { $0.write.shortLived.contains(row) }) { return nil }
        guard row.table == "memo", clocksAreRight, !hasForgotten, deletions.count == 1,
            let deletion = deletions.first?.write, deletion.at + 1 < write.at, !write.inserted.contains(row)
        else { return nil }
        return "the row is missing, although it was edited after its deletion"
    }

    private func isMortalOtherwise(_ row: RowName) -> Bool {
        if fates.namesakes(of: row).count > 1 { return true }
        return isHardToTell(row) ? fates.hasMortalOwner(row) : fates.isOrphan(row)
    }

    /// Whether the judge cannot tell which deletion of an owner removed a row: the server lost knowledge, a refusal
    /// reverted the row or an owner, or the row had a life that is not in the history.
    private func isHardToTell(_ row: RowName) -> Bool {
        hasForgotten || history.hasServerGoneBack || refused[row] != nil
            || fates.hasOwner(row) { refused[$0] != nil }
            || history.writes(of: row).contains { $0.write.shortLived.contains(row) }
    }

    /// Whether a reference is null because its target is gone, or refers to the row that its target merged into.
    private func isConsequence(_ last: String?, in column: String, of row: RowName) -> Bool {
        let values = history.writes(of: row).compactMap { $0.write.cells[row]?[column] ?? nil }
        func targets(_ onDelete: ColumnSchema.OnDelete? = nil) -> [RowName] {
            values.compactMap { Tables.target(of: $0, in: column, of: row.table, on: onDelete) }
        }
        guard let last else { return targets(.setNull).contains(where: fates.mortal.contains) }
        guard let present = Tables.target(of: last, in: column, of: row.table) else { return false }
        return targets().contains { fates.mayBeOne($0, present) }
    }

    // MARK: - Back again, invented

    private func isBackForNoReason(_ row: RowName, _ number: Int, _ write: History.Write) -> Bool {
        guard server[row] != nil, refused[row] == nil else { return false }
        let others = history.writes(of: row).filter { $0.write.device != write.device }
        if hasForgotten, history.hasServerGoneBack || !others.isEmpty { return false }
        if isKeptByEdits(row), !others.isEmpty { return false }
        // A later edit restores the row. With a wrong clock, any edit may.
        if row.table == "memo", others.contains(where: { !clocksAreRight || $0.write.at >= write.at }) { return false }
        let deletions = history.writes(of: row).filter { $0.write.deleted.contains(row) }
        // A row that was deleted before it was sent leaves no trace (S1), so another device, or the same one before it
        // was restored, may have created it as well.
        let wasItsOwn = history.writes(of: row).contains {
            $0.number < number && $0.write.device == write.device && $0.write.inserted.contains(row)
        }
        if wasItsOwn, history.restored.contains(write.device) { return false }
        return !history.writes(of: row).contains { other in
            guard other.write.inserted.contains(row) else { return false }
            let isOthers = other.write.device != write.device
            // A cascade may have deleted the row, and another device created it again, before this device knew.
            let isAnew =
                fates.hasMortalOwner(row)
                && history.writes(of: row).contains { $0.number < other.number && $0.write.inserted.contains(row) }
            return other.write.at >= write.at || (isOthers && (wasItsOwn || isAnew))
                || deletions.contains { $0.number != number && $0.write.at <= other.write.at }
        }
    }

    private func isInvented(_ value: String?, _ column: String, _ row: RowName) -> Bool {
        if Tables.column(column, of: row.table)?.kind == .counter { return false }
        // Values of a merged row belong to this one.
        let isWritten = fates.namesakes(of: row).contains { one in
            history.writes(of: one).contains { $0.write.cells[one]?[column] == .some(value) }
        }
        if isWritten { return false }
        // The writers' version of the app may not have this column.
        if value == nil, (Tables.column(column, of: row.table)?.since ?? 1) > 1 { return false }
        return !isConsequence(value, in: column, of: row)
    }
}
