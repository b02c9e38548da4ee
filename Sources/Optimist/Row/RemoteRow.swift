// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The server's word on one row: the life that the row is in, and when each column was written. An entry of
/// `optimist_remote`.
///
/// The server's values are in the app's table, unless an unsent edit covers them or they wait to be put. The fields
/// change by the moves below only: what the server says, what it has lost, and where the app's table has its row.
///
/// If the row is deleted, only the clock of its end is kept. If the server has lost the row, the clocks are those of the
/// values that it had.
struct RemoteRow: Equatable, Sendable {
    /// The latest life that the server has. Odd: alive. Even: deleted. Zero: the server never had the row, or has lost
    /// it.
    private(set) var generation = 0
    /// The server's last transaction that is known to have touched the row.
    private(set) var seq: Int64 = 0
    /// When each of the server's columns was written. If the row is deleted, the common clock is that of the deletion.
    private(set) var clocks = ColumnClocks()
    private(set) var presence = Presence.unsaid
    /// The number of the last push that settled this row: the server took the row, or refused it with a rejection that
    /// is kept, or nothing of the row is pending after the answer.
    private(set) var lastAnsweredPush: Int64 = 0

    /// Stands in for the clock of a value that came without one.
    static let noClock = WriteClock(stamp: .zero, device: "0")

    var isAlive: Bool { generation % 2 == 1 }
    /// Whether the app's table still holds an earlier life of the row, except for values that are unsent or that the
    /// server has accepted since.
    var isElsewhere: Bool { if case .shown = presence { false } else { true } }

    /// Whether the server has a value of a column. If not, any received value is accepted.
    func has(_ column: TableLayout.Column) -> Bool { presence.columns & column.mask != 0 }

    /// The clock of the server's value of a column. Nil: the server has no value, or the value came without a clock.
    func clock(of column: TableLayout.Column) -> WriteClock? {
        has(column) ? clocks[column.name].flatMap { $0 == Self.noClock ? nil : $0 } : nil
    }

    /// Whether the server's value of a column came without a clock. Between two such values, the one from the server's
    /// later transaction counts.
    func isWithoutClock(_ column: TableLayout.Column) -> Bool { has(column) && clock(of: column) == nil }
}

// MARK: - What the server says

extension RemoteRow {
    /// The server has a life. An earlier one than it is known to have changes nothing.
    mutating func hear(life: Int) { generation = max(generation, life) }

    /// A transaction of the server's has touched the row. Nil, or an earlier one than is known, changes nothing.
    mutating func hear(seq: Int64?) { self.seq = max(self.seq, seq ?? 0) }

    /// The server has a value that was written at a time.
    ///
    /// - Parameter clock: The clock of the value. Nil: the value came without one.
    mutating func hear(_ column: TableLayout.Column, at clock: WriteClock?) {
        let clock = clock ?? Self.noClock
        if clocks[column.name] != clock { clocks.exceptions[column.name] = clock }
        presence.add(column.mask)
    }

    /// The server has a whole row, in the life that is known, and the app's table gets it. Counters have a clock for each total,
    /// which is not kept here.
    mutating func hear(_ patch: RowPatch, in layout: TableLayout) {
        clocks = patch.clocks ?? ColumnClocks()
        for column in layout.counters { clocks.exceptions[column.name] = nil }
        presence = Presence(stored: layout.mask(of: patch.values))
    }

    /// The row is in another life, perhaps an earlier one, and the server has not said when its columns were written.
    mutating func begin(_ life: Int) {
        generation = life
        clocks = ColumnClocks()
        presence = .absent
    }

    /// The server has ended a life.
    ///
    /// - Parameter clock: The clock of the deletion. Nil: the server does not say.
    mutating func end(_ life: Int, at clock: WriteClock?) {
        hear(life: life)
        clocks = ColumnClocks(common: clock)
    }

    /// The server has taken a new life as this device has sent it.
    ///
    /// - Parameter columns: The sent columns. The app's table has them.
    mutating func accept(_ clocks: ColumnClocks, of columns: Int64) {
        self.clocks = clocks
        if case .partly = presence { presence = .partly(columns) } else { presence = Presence(stored: columns) }
    }

    /// The server had a life of this device's until a transaction.
    mutating func accept(lifeAt clock: WriteClock, until seq: Int64) {
        self.seq = seq
        clocks = ColumnClocks(common: clock)
    }

    /// The server has answered a push about this row.
    mutating func answer(_ push: Int64) { lastAnsweredPush = push }

    /// The server has the row in a life again that may be earlier than the latest.
    mutating func goBack(to life: Int) { generation = life }
}

// MARK: - What the server has lost

extension RemoteRow {
    /// The server no longer has the row. The device still knows when the values were written.
    mutating func lose() { generation = 0 }

    /// The server has lost every transaction after one.
    mutating func lose(after seq: Int64) { self.seq = seq }

    /// Forgets everything that the server said of the row.
    mutating func forget() { begin(0) }
}

// MARK: - Where the app's table has the row

extension RemoteRow {
    /// Which of the server's values the app's table has. The masks name columns that have a value on the server.
    enum Presence: Equatable, Sendable {
        /// The table has the server's row.
        case shown(Int64)
        /// The table has an earlier life, and of this one only these columns, which the server has taken from this device.
        case partly(Int64)
        /// The table has nothing of this life, for example because the row is parked.
        case absent

        /// The server has not said which columns it has.
        static let unsaid = Presence.shown(-1)

        /// The form in `optimist_remote`: the mask, with bit 0 for ``partly``.
        init(stored: Int64) {
            self = stored == 0 ? .absent : stored > 0 && stored & 1 != 0 ? .partly(stored & ~1) : .shown(stored)
        }

        var stored: Int64 {
            switch self {
            case .shown(let mask): mask
            case .partly(let mask): mask | 1
            case .absent: 0
            }
        }

        /// Mask of the columns that have a value on the server.
        var columns: Int64 { stored & ~1 }

        fileprivate mutating func add(_ mask: Int64) {
            if self == .absent { self = .partly(mask) } else { self = Presence(stored: stored | mask) }
        }
    }

    /// The table does not have some of the server's values. A page that brings them brings something new.
    mutating func withdraw(_ mask: Int64) { presence = Presence(stored: presence.stored & ~(mask & ~1)) }

    /// The table has nothing of the server's row.
    mutating func withdraw() { presence = .absent }

    /// The table has the row, because this device has made the same life too.
    mutating func appear() { if case .partly(let mask) = presence { presence = .shown(mask) } }
}
