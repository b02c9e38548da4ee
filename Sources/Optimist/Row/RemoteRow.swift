// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The server's word on one row: the row's life, and when each column was written. An entry of `optimist_remote`.
///
/// The values themselves are in the app's table, unless an unsent edit covers them or the row waits. The fields change
/// only by the moves below. A deleted row keeps only the clock of its end. If the server has lost the row, the clocks
/// are those of the lost values.
struct RemoteRow: Equatable, Sendable {
    /// The latest life that the server has. Odd: alive. Even: deleted. Zero: the server never had the row, or lost it.
    private(set) var generation = 0
    /// The server's last transaction known to have touched the row.
    private(set) var seq: Int64 = 0
    /// When each of the server's columns was written. For a deleted row, the common clock is the deletion's.
    private(set) var clocks = ColumnClocks()
    private(set) var presence = Presence.unsaid
    /// The number of the last push that settled this row: the server took the row, refused it with a rejection, or left
    /// it with no pending edit.
    private(set) var lastAnsweredPush: Int64 = 0

    /// Stands in for the clock of a value received without one.
    static let noClock = WriteClock(stamp: .zero, device: "0")

    var isAlive: Bool { generation % 2 == 1 }
    /// Whether the app's table holds an earlier life of the row, apart from unsent values and values that the server
    /// has accepted since.
    var isElsewhere: Bool { if case .shown = presence { false } else { true } }

    /// Whether the server has a value of a column. If not, any received value is accepted.
    func has(_ column: TableLayout.Column) -> Bool { presence.columns & column.mask != 0 }

    /// The clock of the server's value of a column. Nil if there is no value, or if it arrived without a clock.
    func clock(of column: TableLayout.Column) -> WriteClock? {
        has(column) ? clocks[column.name].flatMap { $0 == Self.noClock ? nil : $0 } : nil
    }

    /// Whether the server's value arrived without a clock. Between two such values, the later server transaction wins.
    func isWithoutClock(_ column: TableLayout.Column) -> Bool { has(column) && clock(of: column) == nil }
}

// MARK: - Reports from the server

extension RemoteRow {
    /// The server has a life. An earlier one than the known one changes nothing.
    mutating func hear(life: Int) { generation = max(generation, life) }

    /// A server transaction has touched the row. Nil, or an earlier one than the known one, changes nothing.
    mutating func hear(seq: Int64?) { self.seq = max(self.seq, seq ?? 0) }

    /// The server has a value of a column.
    ///
    /// - Parameter clock: When the value was written. Nil if it arrived without a clock.
    mutating func hear(_ column: TableLayout.Column, at clock: WriteClock?) {
        let clock = clock ?? Self.noClock
        if clocks[column.name] != clock { clocks.exceptions[column.name] = clock }
        presence.add(column.mask)
    }

    /// The server has a full row in the known life, and the app's table gets it. Counters are left out, because each of
    /// their totals has its own clock.
    mutating func hear(_ patch: RowPatch, in layout: TableLayout) {
        clocks = patch.clocks ?? ColumnClocks()
        for column in layout.counters { clocks.exceptions[column.name] = nil }
        presence = Presence(stored: layout.mask(of: patch.values))
    }

    /// The row is in another life, perhaps an earlier one, and the clocks of its columns are unknown.
    mutating func begin(_ life: Int) {
        generation = life
        clocks = ColumnClocks()
        presence = .absent
    }

    /// - Parameter clock: The clock of the deletion, if the server reported it.
    mutating func end(_ life: Int, at clock: WriteClock?) {
        hear(life: life)
        clocks = ColumnClocks(common: clock)
    }

    /// The server has taken a new life as this device sent it.
    ///
    /// - Parameter columns: The sent columns, which the app's table has.
    mutating func accept(_ clocks: ColumnClocks, of columns: Int64) {
        self.clocks = clocks
        if case .partly = presence { presence = .partly(columns) } else { presence = Presence(stored: columns) }
    }

    /// The server had this device's life until it ended in transaction `seq`.
    mutating func accept(lifeAt clock: WriteClock, until seq: Int64) {
        self.seq = seq
        clocks = ColumnClocks(common: clock)
    }

    /// The server has answered a push of this row.
    mutating func answer(_ push: Int64) { lastAnsweredPush = push }

    /// The server has the row in this life again, which may be earlier than the latest.
    mutating func goBack(to life: Int) { generation = life }
}

// MARK: - Losses on the server

extension RemoteRow {
    /// The server has lost the row. The clocks of its values stay.
    mutating func lose() { generation = 0 }

    /// The server has lost every transaction after `seq`.
    mutating func lose(after seq: Int64) { self.seq = seq }

    mutating func forget() { begin(0) }
}

// MARK: - Presence in the app's table

extension RemoteRow {
    /// Which of the server's values the app's table has. The masks name columns that have a value on the server.
    enum Presence: Equatable, Sendable {
        /// The table has the server's row.
        case shown(Int64)
        /// The table has an earlier life. Of this life it has only these columns, which the server took from this
        /// device.
        case partly(Int64)
        /// The table has nothing of this life, for example because the row is parked.
        case absent

        /// The server's columns are unknown.
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

    /// The table lacks some of the server's values, so a page with these values counts as new.
    mutating func withdraw(_ mask: Int64) { presence = Presence(stored: presence.stored & ~(mask & ~1)) }

    mutating func withdraw() { presence = .absent }

    /// The table has the row, because this device created the same life.
    mutating func appear() { if case .partly(let mask) = presence { presence = .shown(mask) } }
}
