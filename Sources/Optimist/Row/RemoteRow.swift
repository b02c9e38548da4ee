// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What the server last said of one row: the life that it is in, and when each column was written. An entry of
/// `optimist_remote`.
///
/// The server's values are in the app's table, unless an unsent edit covers them or they wait to be put. Only the
/// server's word changes an entry.
struct RemoteRow: Equatable, Sendable {
    /// The latest life that the server has. Odd: alive. Even: deleted. Zero: the server never had the row, or has lost
    /// it.
    var generation = 0
    /// The server's last transaction that is known to have touched the row.
    var seq: Int64 = 0
    /// When each of the server's columns was written. If the row is deleted, the common clock is that of the deletion.
    var clocks = ColumnClocks()
    /// Mask of the columns that have a value on the server, and so one of these clocks. The server has no value for the
    /// other columns, so any received value is accepted. Bit 0 is ``elsewhere``.
    var known: Int64 = -1
    /// The number of the last push that settled this row: the server took the row, or refused it with a rejection that
    /// is kept, or nothing of the row is pending after the answer.
    var lastAnsweredPush: Int64 = 0

    /// Set while the app's table does not hold the server's row in this life, for example because the row is parked.
    /// The table then holds only the other columns of ``known``, which the server has taken from this device since.
    static let elsewhere: Int64 = 1

    /// Stands in for the clock of a value that came without one.
    static let noClock = WriteClock(stamp: .zero, device: "0")

    var isAlive: Bool { generation % 2 == 1 }
    /// Whether the app's table still holds an earlier life of the row, except for values that are unsent or that the
    /// server has accepted since.
    var isElsewhere: Bool { known == 0 || (known > 0 && known & Self.elsewhere != 0) }

    /// The clock of the server's value of a column. Nil: the server has no value, or the value came without a clock.
    func clock(of column: TableLayout.Column) -> WriteClock? {
        if known & column.mask == 0 { return nil }
        return clocks[column.name].flatMap { $0 == Self.noClock ? nil : $0 }
    }

    /// Whether the server's value of a column came without a clock. Between two such values, the one from the server's
    /// later transaction counts.
    func isWithoutClock(_ column: TableLayout.Column) -> Bool { known & column.mask != 0 && clock(of: column) == nil }

    /// Notes when a column was written.
    ///
    /// - Parameter clock: The clock of the value. Nil: the value came without one.
    mutating func take(_ column: TableLayout.Column, at clock: WriteClock?) {
        let clock = clock ?? Self.noClock
        if clocks[column.name] != clock { clocks.exceptions[column.name] = clock }
        if known == 0 { known = Self.elsewhere }
        known |= column.mask
    }

    /// Notes when each column of a whole row was written, except for counters, which have one clock for each total.
    mutating func take(_ patch: RowPatch, in layout: TableLayout) {
        clocks = patch.clocks ?? ColumnClocks()
        for column in layout.counters { clocks.exceptions[column.name] = nil }
        known = layout.mask(of: patch.values)
    }

    /// Forgets the clocks and columns of the former life, because the row is in another one now.
    mutating func beginLife() {
        clocks = ColumnClocks()
        known = 0
    }
}
