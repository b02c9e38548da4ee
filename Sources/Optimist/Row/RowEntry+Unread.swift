// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The values that the user had read before an edit (M7).
///
/// A push reports which server values the user had read. If the push replaces an unread value, the server notifies the
/// device that wrote the value. If the table on that device still shows the value, the device's journal keeps it.
extension RowEntry {
    /// The clocks of the server's values that the user had read when the edit began, without missing and unread values.
    func read(_ columns: some Sequence<TableLayout.Column>) -> ColumnClocks {
        var clocks: [String: WriteClock] = [:]
        var isComplete = true
        for column in columns where !column.isCounter {
            if unread & column.mask == 0, let clock = remote.clock(of: column) {
                clocks[column.name] = clock
            } else {
                isComplete = false
            }
        }
        return isComplete ? ColumnClocks(packing: clocks) : ColumnClocks(exceptions: clocks)
    }

    /// The clocks of the values read in the deleted life. Empty if the server does not have that life.
    func readBeforeEnd(in layout: TableLayout) -> ColumnClocks {
        remote.isAlive ? read(layout.columns) : ColumnClocks()
    }

    private var unread: Int64 { local?.unread ?? 0 }

    /// The server's value of an unsent column has changed. The user has read it only if this device wrote it.
    mutating func noteCovered(_ column: TableLayout.Column, device: String) {
        if remote.clock(of: column)?.device == device {
            local?.noteRead(column.mask)
        } else {
            local?.noteUnread(column.mask)
        }
    }

    /// Mask of this user's values that another device replaced or deleted without reading them, except values that were
    /// edited later.
    ///
    /// - Parameter clocks: This device's clocks of such values.
    func replaced(_ clocks: UnreadClocks, in layout: TableLayout) -> Int64 {
        if clocks.isEmpty { return 0 }
        return layout.columns.reduce(0) { isReplaced($1, clocks) ? $0 | $1.mask : $0 }
    }

    private func isReplaced(_ column: TableLayout.Column, _ clocks: UnreadClocks) -> Bool {
        if column.isCounter || isEdited(column) { return false }
        // Compare devices, not clocks: the server may have set the clock back (M4), and names at most one value of a
        // device in a column.
        guard let mine = remote.clock(of: column) else { return false }
        return clocks.contains(device: mine.device, in: column.name)
    }
}

extension RemoteRow {
    /// The clocks of all values, for a deletion that does not report what its device had read.
    func written(in layout: TableLayout) -> UnreadClocks {
        var clocks = UnreadClocks()
        for column in layout.columns where !column.isCounter {
            if let clock = clock(of: column) { clocks.add(clock, in: column.name) }
        }
        return clocks
    }
}
