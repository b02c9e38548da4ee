// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// What the engine knows of one row: the server's word, and the unsent edit above it.
///
/// Its functions decide what a page or a verdict does to both, and to the app's table. They are pure; ``RowEntryTable``
/// reads and writes entries.
///
/// Invariant: a clean row is in the server's life. A pending row is in the server's life, or
/// - in a later life, which the server does not have yet or has lost, or
/// - in an earlier life, because an unsent edit outlives the end that the server reported (``hasOutlivedItsEnd``).
struct RowEntry: Equatable, Sendable {
    let ref: RowRef
    /// The row's life on this device. Odd: alive. Even: deleted. Zero: unknown.
    var generation = 0
    var remote = RemoteRow()
    /// The edit that the server has not accepted yet. Nil if the row is clean.
    var local: LocalEdit?
    /// What this device has counted in each counter column, by the column's bit.
    var counters: [Int64: Counter] = [:]

    var isAlive: Bool { generation % 2 == 1 }
    var isPending: Bool { local != nil }
    /// Whether the server has had this life of the row, so a push needs only the changed columns.
    var isKnownToServer: Bool { remote.generation >= generation }
    var dirty: Int64 { local?.dirty ?? 0 }
    /// Mask of the sent and unanswered columns.
    var sent: Int64 { local?.sent ?? 0 }

    /// The stamp of the user's unsent insert or delete.
    var lifeStamp: Stamp { local?.stamp ?? .zero }

    func unsentClock(of column: String) -> EditClock { local?.clock(of: column) ?? .own(.zero) }

    /// The server's value of a dirty column. Nil if unknown.
    func baseValue(of column: TableLayout.Column) -> JSON? {
        local?.base[column.name].flatMap(SQLLiteral.parse).map(column.form.wire)
    }

    mutating func becomeClean() { local = nil }

    /// Drops the edits of some columns. A row without unsent columns becomes clean.
    mutating func clear(_ mask: Int64, in layout: TableLayout) {
        local?.clear(mask, in: layout)
        if dirty == 0 { local = nil }
    }

    /// Notes that the server has ended a life. If the life is over on this device too, the entry keeps only the end's
    /// clock.
    ///
    /// - Parameters:
    ///   - life: The generation that the deletion gave the row.
    ///   - clock: The clock of the deletion. Nil if the server did not report it.
    mutating func confirmEnd(of life: Int, at clock: WriteClock?) {
        if life <= generation, life > remote.generation || (life == remote.generation && clock != nil) {
            remote.end(life, at: clock)
        } else {
            remote.hear(life: life)
        }
    }

    /// Notes that an answer reports the end of a life, or accepts the end that this device sent.
    ///
    /// If two devices ended the life, the later deletion counts. If both clocks are from one device, they mean the same
    /// deletion, and the page's clock counts, because the server may have set it back (M4).
    mutating func confirmEnd(of life: Int, answeredAt clock: WriteClock?) {
        guard life == remote.generation, let clock, let told = remote.clocks.common else {
            return confirmEnd(of: life, at: clock)
        }
        confirmEnd(of: life, at: clock.device == told.device ? told : max(clock, told))
    }

    /// Gives an unsent column a new stamp, because its value is no longer the one sent with the current stamp.
    mutating func restamp(_ column: TableLayout.Column) -> Stamp {
        let stamp = unsentClock(of: column.name).stamp.successor
        local?.stamp(column, stamp)
        return stamp
    }

    /// The row as the server has it, without unsent values.
    ///
    /// Counters stay as the app's table shows them. A column that never had a server value on this device is left out,
    /// because a migration's default is not one. If the row is elsewhere, the device cannot tell such columns apart and
    /// keeps them.
    ///
    /// - Parameter values: The row as the app's table shows it.
    func served(_ values: JSONObject, in layout: TableLayout) -> JSONObject {
        JSONObject(
            layout.columns.compactMap { column in
                if column.isCounter { return values[column.name].map { (column.name, $0) } }
                if !remote.isElsewhere, !remote.has(column) { return nil }
                let isUnsent = dirty & column.mask != 0
                return (isUnsent ? baseValue(of: column) : values[column.name]).map { (column.name, $0) }
            })
    }

    /// Withdraws the confirmation of server values that could not be written to the app's table.
    ///
    /// If they counted as confirmed, a page that repeats them would bring nothing new. They keep their clocks, so later
    /// values, edited or received, still win.
    ///
    /// - Parameters:
    ///   - values: The values as the app's table should show them.
    ///   - isWhole: Whether the values are the full row, as in a page.
    /// - Returns: The values as the server has them, to be received again once they fit.
    mutating func withdraw(_ values: JSONObject, isWhole: Bool, in layout: TableLayout) -> RowPatch {
        var patch = RowPatch(
            generation: generation, clocks: remote.clocks, seq: isWhole ? remote.seq : nil, values: values)
        for column in layout.counters {
            guard let shown = values[column.name]?.int, let counter = counters[column.bit] else { continue }
            patch.values[column.name] = .int(shown &- counter.unsent)
            patch.mine[column.name] = counter.totals.mapValues(\.confirmed)
        }
        remote.withdraw(layout.mask(of: values))
        return patch
    }
}
