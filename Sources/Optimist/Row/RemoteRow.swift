// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The server's word on one row: its life, and when each column was written. An entry of `optimist_remote`.
///
/// The values are in the app's table, unless an unsent edit covers them or the row waits. Only the functions below
/// change the fields. A deleted row keeps only the clock of its end, and a lost row the clocks of the lost values.
struct RemoteRow: Equatable, Sendable {
    /// The server's latest life: odd if alive, even if deleted, zero if the server never had the row or lost it.
    private(set) var generation = 0
    /// The last server transaction known to have touched the row.
    private(set) var seq: Int64 = 0
    /// The clock of each column on the server. For a deleted row, the common clock is the deletion's.
    private(set) var clocks = ColumnClocks()
    private(set) var presence = Presence.unsaid
    /// The last push that settled this row: the server accepted or rejected it, or no pending edit remained.
    private(set) var lastAnsweredPush: Int64 = 0
    /// The number of the ``Scope`` where the server has the row.
    private(set) var scope = Scope.personal
    /// The row's last move between scopes, as the server told it.
    private(set) var departure: Departure?

    struct Departure: Equatable, Sendable {
        /// The scope that the row left.
        var from: Int64
        /// The last transaction there that this device knows to have had the departure. `Int64.max` if unknown, nil if a
        /// restored server has lost the departure.
        var seq: Int64?

        init(from scope: Int64, seq: Int64?) { (from, self.seq) = (scope, seq) }

        /// Reads the form in `optimist_remote`, `[scope, transaction]`.
        init?(stored: String) {
            guard let parts = (try? JSON(parsing: stored.utf8))?.array, parts.count == 2, let scope = parts[0].int
            else { return nil }
            self.init(from: scope, seq: parts[1].int)
        }

        var stored: String { JSON.array([.int(from), seq.map(JSON.int) ?? .null]).description }
    }

    /// Stands in for a missing clock.
    static let noClock = WriteClock(stamp: .zero, device: "0")

    var isAlive: Bool { generation % 2 == 1 }
    /// Whether the table holds an earlier life, apart from unsent values and values that the server accepted later.
    var isElsewhere: Bool { if case .shown = presence { false } else { true } }

    /// If false, any received value is accepted.
    func has(_ column: TableLayout.Column) -> Bool { presence.columns & column.mask != 0 }

    /// Nil if the server's value is unknown or arrived without a clock.
    func clock(of column: TableLayout.Column) -> WriteClock? {
        has(column) ? clocks[column.name].flatMap { $0 == Self.noClock ? nil : $0 } : nil
    }

    /// Between two values without clocks, the later server transaction wins.
    func isWithoutClock(_ column: TableLayout.Column) -> Bool { has(column) && clock(of: column) == nil }
}

// MARK: - Reports from the server

extension RemoteRow {
    /// An earlier life than the known one changes nothing.
    mutating func hear(life: Int) { generation = max(generation, life) }

    mutating func hear(in scope: Int64) { self.scope = scope }

    /// Nil, or an earlier transaction than the known one, changes nothing.
    mutating func hear(seq: Int64?) { self.seq = max(self.seq, seq ?? 0) }

    mutating func hear(_ column: TableLayout.Column, at clock: WriteClock?) {
        let clock = clock ?? Self.noClock
        if clocks[column.name] != clock { clocks.exceptions[column.name] = clock }
        presence.add(column.mask)
    }

    /// The app's table gets a full row of the known life. Counters are left out: each total has its own clock.
    mutating func hear(_ patch: RowPatch, in layout: TableLayout) {
        clocks = patch.clocks ?? ColumnClocks()
        for column in layout.counters { clocks.exceptions[column.name] = nil }
        presence = Presence(stored: layout.mask(of: patch.values))
    }

    /// The row is in another life, perhaps an earlier one, with unknown columns.
    mutating func begin(_ life: Int) {
        generation = life
        clocks = ColumnClocks()
        presence = .absent
    }

    mutating func end(_ life: Int, at clock: WriteClock?) {
        hear(life: life)
        clocks = ColumnClocks(common: clock)
    }

    /// The server took a new life as this device sent it.
    ///
    /// - Parameter columns: The sent columns, which the app's table has.
    mutating func accept(_ clocks: ColumnClocks, of columns: Int64) {
        self.clocks = clocks
        if case .partly = presence { presence = .partly(columns) } else { presence = Presence(stored: columns) }
    }

    /// The server had this device's life, and ended it in transaction `seq`.
    mutating func accept(lifeAt clock: WriteClock, until seq: Int64) {
        self.seq = seq
        clocks = ColumnClocks(common: clock)
    }

    mutating func answer(_ push: Int64) { lastAnsweredPush = push }

    /// The server has this life again, perhaps an earlier one than the latest.
    mutating func goBack(to life: Int) { generation = life }
}

// MARK: - Losses on the server

extension RemoteRow {
    /// The server lost the row. The clocks stay.
    mutating func lose() { generation = 0 }

    /// The row left its scope in a transaction, which may be unknown.
    mutating func leave(for scope: Int64, in seq: Int64?) {
        if scope != self.scope { departure = Departure(from: self.scope, seq: seq ?? .max) }
        self.scope = scope
    }

    /// The server has the departure in this transaction.
    ///
    /// - Returns: Whether that is news.
    mutating func confirmDeparture(from scope: Int64, in seq: Int64) -> Bool {
        guard departure?.from == scope, departure?.seq != seq else { return false }
        departure?.seq = seq
        return true
    }

    /// The server lost every transaction after `seq`.
    mutating func lose(after seq: Int64) { self.seq = seq }

    mutating func forget() { begin(0) }
}

// MARK: - Presence in the app's table

extension RemoteRow {
    /// Which of the server's values the app's table has. Masks name columns with a value on the server.
    enum Presence: Equatable, Sendable {
        case shown(Int64)
        /// The table has an earlier life. From this life, the table has only these columns, which the server took from
        /// this device.
        case partly(Int64)
        /// The table lacks this life, for example because the row is parked.
        case absent

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

        var columns: Int64 { stored & ~1 }

        fileprivate mutating func add(_ mask: Int64) {
            if self == .absent { self = .partly(mask) } else { self = Presence(stored: stored | mask) }
        }
    }

    /// The table lacks these server values, so a page that repeats them must be applied.
    mutating func withdraw(_ mask: Int64) { presence = Presence(stored: presence.stored & ~(mask & ~1)) }

    mutating func withdraw() { presence = .absent }

    /// This device created the same life, so the table has the row.
    mutating func appear() { if case .partly(let mask) = presence { presence = .shown(mask) } }
}
