// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// What the engine knows of one row: an entry of `optimist_row`.
///
/// The triggers write the unsent half while the app writes; the functions of this type decide what a page or a
/// verdict does to both halves. They are pure: ``RowEntryTable`` reads and writes.
struct RowEntry: Equatable, Sendable {
    var key: Int64?
    let ref: RowRef
    /// Which life the row is in on this device. Odd: alive. Even: deleted.
    var generation: Int
    /// The latest life that the server confirmed. Zero: it never heard of the row.
    var acked = 0
    /// The server's last transaction that is known to have touched the row.
    var seq: Int64 = 0
    /// The clocks of what the server confirmed.
    var confirmed = ColumnClocks()

    /// Mask of the columns that have a value on the server, and so one of these clocks. Others take whatever comes. Bit 0 is
    /// ``elsewhere``.
    var known: Int64 = -1
    /// The table does not hold the server's row in this life, because the row is parked, for example. It holds only the
    /// other columns of ``known``, which the server has taken from this device since.
    static let elsewhere: Int64 = 1

    /// The stamp of the transaction that made the row pending. Nil: clean.
    var pending: Stamp?
    /// The stamp of every dirty column without one of its own. Nil: the same as `pending`.
    var stamp: Stamp?
    var stamps: [String: Stamp] = [:]
    /// The unsent half: bit 0 is the row's life, the others are columns.
    var dirty: Int64 = 0
    /// The sent and unanswered half.
    var sent: Int64 = 0
    /// What the server holds of dirty columns, as SQL literals. Only while the server knows this life.
    var base: [String: String] = [:]
    /// What this device has counted, by the column's bit.
    var counters: [Int64: Counter] = [:]
    /// The last push in which the server took this row, or refused it with a rejection that is kept.
    var settled: Int64 = 0
    /// Not to be sent before, in milliseconds since 1970.
    var due: Int64?
    /// The row that this one waits for, as `Type:id`.
    var blocked: String?
    /// How often the server has put it off.
    var retries = 0
    /// Whether the server lost what it had confirmed of this life, so that it is sent again with its old clocks (L3).
    var isHealing = false

    init(ref: RowRef, generation: Int) {
        self.ref = ref
        self.generation = generation
    }

    var isAlive: Bool { generation % 2 == 1 }
    var isPending: Bool { pending != nil }
    /// Whether the table holds an earlier life of the row, except for values that are unsent or were accepted since.
    var isElsewhere: Bool { known == 0 || (known > 0 && known & Self.elsewhere != 0) }
    /// Whether the server has had this life of the row, so that columns suffice.
    var isKnownToServer: Bool { acked >= generation }

    /// The stamp of an unsent column.
    func unsentStamp(of column: String) -> Stamp { stamps[column] ?? lifeStamp }
    /// The stamp of an unsent insert or delete.
    var lifeStamp: Stamp { stamp ?? pending ?? .zero }

    /// What the server holds of a dirty column. Nil: nothing is known of that.
    func baseValue(of column: TableLayout.Column) -> JSON? {
        base[column.name].flatMap(SQLLiteral.parse).map(column.form.wire)
    }

    /// Forgets everything unsent.
    mutating func becomeClean() {
        pending = nil
        stamp = nil
        stamps = [:]
        dirty = 0
        sent = 0
        base = [:]
        due = nil
        blocked = nil
        retries = 0
        isHealing = false
    }

    /// Forgets that some columns are unsent.
    mutating func clear(_ mask: Int64, in layout: TableLayout) {
        dirty &= ~mask
        if dirty == 0, !isHealing { return becomeClean() }
        for column in layout.columns(in: mask) {
            base[column.name] = nil
            stamps[column.name] = nil
        }
    }

    /// Stands for the clock of a value that came without one.
    private static let noClock = Clock(stamp: .zero, device: "0")

    /// The clock of what the server has of a column. Nil: it has nothing, or that came without a clock.
    func confirmedClock(of column: TableLayout.Column) -> Clock? {
        if known & column.mask == 0 { return nil }
        return confirmed[column.name].flatMap { $0 == Self.noClock ? nil : $0 }
    }

    /// Whether what the server has of a column came without a clock: of two such values the one of its later transaction
    /// counts.
    func isWithoutClock(_ column: TableLayout.Column) -> Bool {
        known & column.mask != 0 && confirmedClock(of: column) == nil
    }

    /// - Parameter clock: Nil: the value came without one.
    mutating func confirm(_ column: TableLayout.Column, _ clock: Clock?) {
        let clock = clock ?? Self.noClock
        if confirmed[column.name] != clock { confirmed.exceptions[column.name] = clock }
        if known == 0 { known = Self.elsewhere }
        known |= column.mask
    }

    /// Takes over the clocks of a whole row of the server's, except for counters, which have one clock for each total.
    mutating func confirm(_ patch: RowPatch, in layout: TableLayout) {
        confirmed = patch.clocks ?? ColumnClocks()
        for column in layout.counters { confirmed.exceptions[column.name] = nil }
        known = layout.mask(of: patch.values)
    }

    /// The server has ended a life that is over here too. The entry now keeps only when that life ended.
    ///
    /// - Parameters:
    ///   - life: The generation that the deletion gave the row.
    ///   - clock: When that was. Nil: the server did not say.
    mutating func confirmEnd(of life: Int, at clock: Clock?) {
        if life <= generation, life > acked || (life == acked && clock != nil) {
            confirmed = ColumnClocks(common: clock)
        }
        acked = max(acked, life)
    }

    /// An answer says that a life ended, or that this device ended it. If two devices ended it, the later deletion
    /// counts. A page may have told of the same deletion already, and the server may have reined in its clock (M4).
    mutating func confirmEnd(of life: Int, answeredAt clock: Clock?) {
        guard life == acked, let clock, let known = confirmed.common else { return confirmEnd(of: life, at: clock) }
        confirmEnd(of: life, at: clock.device == known.device ? known : max(clock, known))
    }

    /// An unsent column has another value by now than was sent with its clock.
    mutating func restamp(_ column: TableLayout.Column) {
        stamps[column.name] = unsentStamp(of: column.name).successor
    }

    /// The row as the server has it, without counters and without unsent values. A column that never had a value of the
    /// server's here is left out: a migration's default is no value of the server's. For a row that is elsewhere the
    /// device cannot tell.
    ///
    /// - Parameter values: As the app's table shows them.
    func served(_ values: JSONObject, in layout: TableLayout) -> JSONObject {
        JSONObject(
            layout.columns.compactMap { column in
                if column.isCounter { return values[column.name].map { (column.name, $0) } }
                if !isElsewhere, known & column.mask == 0 { return nil }
                let isUnsent = dirty & column.mask != 0
                return (isUnsent ? baseValue(of: column) : values[column.name]).map { (column.name, $0) }
            })
    }

    /// Unconfirms values of the server's that could not be written to the app's table.
    ///
    /// A value that is not in the table must not count as confirmed: a page that brings it again would be no news. A
    /// value that is edited or received meanwhile is later, and stays. So the values leave with their clocks.
    ///
    /// - Parameters:
    ///   - values: As the app's table was to show them.
    ///   - isWhole: Whether it is the whole row, as a page would bring it.
    /// - Returns: The values as the server has them, to be received once they fit.
    mutating func withdraw(_ values: JSONObject, isWhole: Bool, in layout: TableLayout) -> RowPatch {
        var patch = RowPatch(generation: generation, clocks: confirmed, seq: isWhole ? seq : nil, values: values)
        for column in layout.counters {
            guard let shown = values[column.name]?.int, let counter = counters[column.bit] else { continue }
            patch.values[column.name] = .int(shown &- counter.unsent)
            patch.mine[column.name] = counter.totals.mapValues(\.confirmed)
        }
        known &= ~layout.mask(of: values)
        return patch
    }
}
