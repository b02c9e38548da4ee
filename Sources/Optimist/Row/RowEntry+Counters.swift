// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

extension RowEntry {
    /// - Returns: The value that the app's column must show.
    mutating func takeCounter(_ column: TableLayout.Column, from patch: RowPatch, seq: Int64?, isDirty: Bool) -> JSON {
        var counter = counters[column.bit] ?? Counter()
        let confirmed = counter.take(
            patch.values[column.name]?.int ?? 0, mine: patch.mine[column.name] ?? [:], seq: seq ?? remote.seq,
            clock: patch.clocks?[column.name], isDirty: isDirty)
        counters[column.bit] = counter.totals.isEmpty ? nil : counter
        if isDirty { local?.cover(column, String(confirmed)) }
        return .int(confirmed &+ counter.unsent)
    }

    /// Begins the counters of a row's new life with the server's totals, and forgets the former life's counters.
    ///
    /// - Returns: The row's values as the app's table must show them.
    mutating func beginCounters(of patch: RowPatch, in layout: TableLayout) -> JSONObject {
        counters = [:]
        var values = patch.values
        for column in layout.counters {
            values[column.name] = takeCounter(column, from: patch, seq: patch.seq, isDirty: false)
        }
        return values
    }

    /// Confirms the sent totals (S4). Later counts stay unsent.
    ///
    /// - Parameter isInOrder: Whether no page has brought a later version of the row.
    /// - Returns: The value that the app's column must show. Nil to leave it unchanged.
    mutating func settleCounter(
        _ column: TableLayout.Column, _ sent: SentRow, _ won: RowPatch, seq: Int64, isInOrder: Bool, isDirty: Bool
    ) -> JSON? {
        if !isInOrder, won.values[column.name] != nil {
            // The server took the total of another copy of this file instead, and a page has already brought that
            // total.
            if isDirty { return nil }
            takeBackCounters(in: column.mask)
            return .int(baseCount(of: column))
        }
        let former = counters[column.bit]?.totals.values.reduce(0) { $0 &+ $1.confirmed } ?? 0
        counters[column.bit]?.confirm(sent.totals[column.name] ?? [], seq: seq)
        if isInOrder, won.values[column.name] != nil {
            return takeCounter(column, from: won, seq: seq, isDirty: isDirty)
        }
        let present = counters[column.bit]?.totals.values.reduce(0) { $0 &+ $1.confirmed } ?? 0
        let base = baseCount(of: column) &+ present &- former
        if isDirty { local?.cover(column, String(base)) }
        return nil
    }

    /// Takes back a refused count, but not the counts made after the push.
    ///
    /// - Returns: The refused amount, and the value that the app's column must show.
    mutating func rejectCounter(
        _ column: TableLayout.Column, _ sent: SentRow, _ current: RowPatch?
    ) -> (refused: Int64, shown: JSON) {
        // A page may have brought a later count.
        if let current, current.values[column.name] != nil, current.seq ?? .max >= remote.seq {
            _ = takeCounter(column, from: current, seq: current.seq, isDirty: true)
        }
        let refused = counters[column.bit]?.takeBack(sent.totals[column.name] ?? []) ?? 0
        let shown = baseCount(of: column) &+ (counters[column.bit]?.unsent ?? 0)
        return (refused, .int(shown))
    }

    mutating func takeBackCounters(in mask: Int64) {
        for (bit, counter) in counters where mask & (1 << bit) != 0 {
            counters[bit]?.totals = counter.totals.mapValues { total in
                var total = total
                total.value = total.confirmed
                return total
            }
        }
    }

    mutating func forgetConfirmedCounters() {
        counters = counters.mapValues { counter in
            var counter = counter
            counter.totals = counter.totals.mapValues { Counter.Total(value: $0.value, stamp: $0.stamp) }
            return counter
        }
    }

    /// Zero if unknown.
    private func baseCount(of column: TableLayout.Column) -> Int64 {
        local?.base[column.name].flatMap(SQLLiteral.parse).flatMap { Int64.fromDatabaseValue($0) } ?? 0
    }

    /// Leaves out counters that this device has not changed.
    func pushedTotals(of columns: [TableLayout.Column]) -> [String: [CounterTotal]] {
        let pushed = columns.filter(\.isCounter).compactMap { column in
            counters[column.bit].map { (column.name, $0.pushed) }
        }
        return Dictionary(uniqueKeysWithValues: pushed)
    }

    /// For the journal. A counter's value is the amount that the server lacks.
    func kept(_ values: JSONObject, in layout: TableLayout) -> JSONObject {
        var values = values
        for column in layout.counters where values[column.name] != nil {
            values[column.name] = CounterChange.json(counters[column.bit]?.unsent ?? 0)
        }
        return values
    }
}

extension SentRow {
    /// For a rejection. A counter's value is the amount that the server lacks.
    func kept(against current: RowPatch?) -> JSONObject {
        var values = values
        for (name, totals) in totals {
            let present = current?.mine[name] ?? [:]
            values[name] = CounterChange.json(
                totals.reduce(0) { $0 &+ $1.total &- (present[$1.clock.device] ?? 0) })
        }
        return values
    }
}
