// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// What the engine knows of one row: the server's word, and the unsent edit above it. Its functions decide the effects
/// of pages and verdicts on both and on the app's table. Pure.
///
/// Invariant: a clean row is in the server's life. A pending row is in the server's life, or
/// - in a later life, which the server does not have yet or has lost, or
/// - in an earlier life, because an unsent edit outlives the end that the server reported (``hasOutlivedItsEnd``).
struct RowEntry: Equatable, Sendable {
    let ref: RowRef
    /// The life on this device: odd if alive, even if deleted, zero if unknown.
    var generation = 0
    var remote = RemoteRow()
    /// Nil if the row is clean.
    var local: LocalEdit?
    /// This device's counts, by the column's bit.
    var counters: [Int64: Counter] = [:]

    var isAlive: Bool { generation % 2 == 1 }
    var isPending: Bool { local != nil }
    /// Whether the server has had this life, so a push needs only the changed columns.
    var isKnownToServer: Bool { remote.generation >= generation }
    var dirty: Int64 { local?.dirty ?? 0 }
    var sent: Int64 { local?.sent ?? 0 }

    /// The stamp of the user's unsent insert or delete.
    var lifeStamp: Stamp { local?.stamp ?? .zero }

    func unsentClock(of column: String) -> EditClock { local?.clock(of: column) ?? .own(.zero) }

    /// Nil if unknown.
    func baseValue(of column: TableLayout.Column) -> JSON? {
        local?.base[column.name].flatMap(SQLLiteral.parse).map(column.form.wire)
    }

    mutating func becomeClean() { local = nil }

    /// Drops the edits of some columns. Without unsent columns, the row becomes clean.
    mutating func clear(_ mask: Int64, in layout: TableLayout) {
        local?.clear(mask, in: layout)
        if dirty == 0 { local = nil }
    }

    /// Notes that the server ended a life. If that life is also over on this device, the entry keeps only the end's
    /// clock.
    ///
    /// - Parameters:
    ///   - life: The generation that the deletion gave the row.
    ///   - clock: Nil if the server did not report it.
    mutating func confirmEnd(of life: Int, at clock: WriteClock?) {
        if life <= generation, life > remote.generation || (life == remote.generation && clock != nil) {
            remote.end(life, at: clock)
        } else {
            remote.hear(life: life)
        }
    }

    /// Notes that an answer reports a life's end, or accepts the end that this device sent.
    ///
    /// The later of two deletions counts. But two clocks from one device mean the same deletion, and the page's clock
    /// counts, because the server may have set it back (M4).
    mutating func confirmEnd(of life: Int, answeredAt clock: WriteClock?) {
        guard life == remote.generation, let clock, let told = remote.clocks.common else {
            return confirmEnd(of: life, at: clock)
        }
        confirmEnd(of: life, at: clock.device == told.device ? told : max(clock, told))
    }

    /// Gives a column a new stamp, because its value is no longer the one sent with the current stamp.
    mutating func restamp(_ column: TableLayout.Column) -> Stamp {
        let stamp = unsentClock(of: column.name).stamp.successor
        local?.stamp(column, stamp)
        return stamp
    }

    /// The row as the server has it, without unsent values.
    ///
    /// Counters stay as shown. Columns that never had a server value are left out, because a migration's default is not
    /// a server value. If the app's table does not show the row, such columns are unknown, so none is left out.
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

    /// Withdraws the confirmation of server values that the app's table could not take, so that a page that repeats
    /// them is applied. Their clocks are kept, so later values still win.
    ///
    /// - Parameters:
    ///   - values: The values as the app's table should show them.
    ///   - isWhole: Whether they are the full row, as in a page.
    /// - Returns: The server's values, to be received when they fit.
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
