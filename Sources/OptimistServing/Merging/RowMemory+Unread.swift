// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Values that a device overwrote, or deleted with their row, without having read them (M7).
///
/// The server keeps only their clocks and sends them in the row's next page. The device that wrote such a value still
/// shows it when that page arrives.
extension RowMemory {
    /// The earliest clocks are dropped first.
    static let maxUnread = 200

    /// Records the values that a write replaced although the writing device had not read them. Equal values are not a
    /// conflict (M5).
    mutating func noteReplaced(
        _ columns: Set<String>, of former: [String: Cell], by present: [String: Cell], having read: ColumnClocks?
    ) {
        for column in columns {
            guard let cell = present[column] else { continue }
            // A device that writes the column again has already dealt with its earlier value.
            unread.remove(device: cell.clock.device, in: column)
            guard let was = former[column], was.value != cell.value else { continue }
            note(was.clock, in: column, replacedBy: cell.clock.device, having: read)
        }
        unread.keep(latest: Self.maxUnread)
    }

    /// Records the values that ended with a life of the row although the device that ended the life had not read
    /// them.
    ///
    /// - Parameters:
    ///   - device: The device that ended the life, if its push names the row. Its own values count as read.
    ///   - next: The values of the next life, if it has begun.
    mutating func noteEnded(
        _ cells: [String: Cell], by device: String?, having read: ColumnClocks?,
        besides next: [String: Cell] = [:]
    ) {
        for (column, cell) in cells where next[column]?.value != cell.value {
            note(cell.clock, in: column, replacedBy: device, having: read)
        }
        unread.keep(latest: Self.maxUnread)
    }

    /// For each column of a new life of the row, drops the earlier unread values of the device that wrote the column.
    /// That device has already dealt with them.
    mutating func forgetUnread(of cells: [String: Cell]) {
        for (column, cell) in cells { unread.remove(device: cell.clock.device, in: column) }
    }

    private mutating func note(
        _ clock: WriteClock, in column: String, replacedBy device: String?, having read: ColumnClocks?
    ) {
        guard let read, read[column] != clock, clock.device != device, clock.device != ServerClock.device else {
            return
        }
        unread.add(clock, in: column)
    }
}

extension Consequences {
    /// Records the values that a row lost when it was merged into another. No device has read the merged row.
    mutating func noteLost(_ row: MergeRow, of loser: RowKey, in winner: RowKey, _ cause: WorkingRow.Cause) throws {
        let present = try rows.row(winner)?.cells(namedBy: row) ?? [:]
        let read = read
        try rows.change(loser, cause: cause) { working in
            for (column, cell) in row.cells {
                guard let theirs = present[column], theirs.clock != cell.clock, theirs.value != cell.value else {
                    continue
                }
                working.memory.noteEnded([column: cell], by: theirs.clock.device, having: read)
            }
        }
    }
}

extension MergeRow {
    func cells(namedBy other: MergeRow) -> [String: Cell] {
        var named: [String: Cell] = [:]
        for column in other.cells.keys { named[column] = cells[column] }
        return named
    }
}

extension RowOperation {
    /// What the device's user had read of the row. Nil: unknown. A device that creates a row has read nothing.
    var read: ColumnClocks? {
        guard hasOwnClocks else { return nil }
        return switch action {
        case .create(let patch): patch.clocks == nil ? nil : patch.read ?? ColumnClocks()
        case .update(let patch): patch.clocks == nil ? nil : patch.read
        case .destroy(let tombstone): tombstone?.read
        }
    }
}
