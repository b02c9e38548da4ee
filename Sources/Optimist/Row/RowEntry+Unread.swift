// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What the user had read before an edit (M7).
///
/// A push says which of the server's values the user had read where it writes. If it replaces another one, the server
/// tells the device that wrote that value. That device still shows the value when it hears so, and keeps it in the
/// journal.
extension RowEntry {
    /// The clocks of the server's values that the user had read when the edit began. A column without one has a value
    /// that the user never saw, or none.
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

    /// The clocks of the values that the user had read in the life that a deletion has ended. Nothing, if the server
    /// has no such life.
    func readBeforeEnd(in layout: TableLayout) -> ColumnClocks {
        remote.isAlive ? read(layout.columns) : ColumnClocks()
    }

    /// Mask of the columns whose present server values the user has not read, because the edit covers them.
    private var unread: Int64 { local?.unread ?? 0 }

    /// Notes that the server's value of an unsent column has changed. The app's table does not show it, unless this
    /// device wrote it.
    mutating func noteCovered(_ column: TableLayout.Column, device: String) {
        if remote.clock(of: column)?.device == device {
            local?.noteRead(column.mask)
        } else {
            local?.noteUnread(column.mask)
        }
    }

    /// Mask of the columns whose values this user wrote, where another device has replaced or ended them unread, and no
    /// later edit stands.
    ///
    /// - Parameter clocks: The clocks of such values that this device gave.
    func replaced(_ clocks: UnreadClocks, in layout: TableLayout) -> Int64 {
        if clocks.isEmpty { return 0 }
        return layout.columns.reduce(0) { isReplaced($1, clocks) ? $0 | $1.mask : $0 }
    }

    private func isReplaced(_ column: TableLayout.Column, _ clocks: UnreadClocks) -> Bool {
        if column.isCounter || isEdited(column) { return false }
        // The server may have set the value's clock back meanwhile (M4). It names at most one value of a device in a column.
        guard let mine = remote.clock(of: column) else { return false }
        return clocks.contains(device: mine.device, in: column.name)
    }
}

extension RemoteRow {
    /// The clocks of all values of a row, for a deletion that does not say what its device had read.
    func written(in layout: TableLayout) -> UnreadClocks {
        var clocks = UnreadClocks()
        for column in layout.columns where !column.isCounter {
            if let clock = clock(of: column) { clocks.add(clock, in: column.name) }
        }
        return clocks
    }
}
