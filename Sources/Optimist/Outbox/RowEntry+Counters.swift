// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// What pages and verdicts do to the counters of a row (M3).
extension RowEntry {
    /// Takes a counter from the server.
    ///
    /// - Parameter hasHealed: Whether the server has got back by now what it had confirmed.
    /// - Returns: What the app's column is to show.
    mutating func takeCounter(
        _ column: TableLayout.Column, from patch: RowPatch, seq: Int64?, isDirty: Bool, hasHealed: Bool = false
    ) -> JSON {
        var counter = counters[column.bit] ?? Counter()
        let confirmed = counter.take(
            patch.values[column.name]?.int ?? 0, mine: patch.mine[column.name] ?? [:], seq: seq ?? self.seq,
            clock: patch.clocks?[column.name], isDirty: isDirty || (isHealing && !hasHealed))
        counters[column.bit] = counter.totals.isEmpty ? nil : counter
        if isDirty { base[column.name] = String(confirmed) }
        return .int(confirmed &+ counter.unsent)
    }

    /// Takes the counters of a life that begins: it has the totals that the server names, and no others.
    ///
    /// - Returns: The values of the row as the app's table is to show them.
    mutating func beginCounters(of patch: RowPatch, in layout: TableLayout) -> JSONObject {
        counters = [:]
        var values = patch.values
        for column in layout.counters {
            values[column.name] = takeCounter(column, from: patch, seq: patch.seq, isDirty: false)
        }
        return values
    }

    /// Books that the server has the totals that were sent (S4). What the device counted since stays unsent.
    ///
    /// - Parameter isInOrder: Whether no page has brought a later version of the row.
    /// - Returns: What the app's column is to show. Nil: what it shows.
    mutating func settleCounter(
        _ column: TableLayout.Column, _ sent: SentRow, _ won: RowPatch, seq: Int64, isInOrder: Bool, isDirty: Bool
    ) -> JSON? {
        if !isInOrder, won.values[column.name] != nil {
            // The server has the total of another copy of this file, and the page has told it. It does not have the
            // total that was sent.
            if isDirty { return nil }
            takeBackCounters(in: column.mask)
            return .int(baseCount(of: column))
        }
        let former = counters[column.bit]?.totals.values.reduce(0) { $0 &+ $1.confirmed } ?? 0
        counters[column.bit]?.confirm(sent.totals[column.name] ?? [], seq: seq)
        if isInOrder, won.values[column.name] != nil {
            return takeCounter(column, from: won, seq: seq, isDirty: isDirty, hasHealed: sent.heals)
        }
        let present = counters[column.bit]?.totals.values.reduce(0) { $0 &+ $1.confirmed } ?? 0
        if isDirty { base[column.name] = String(baseCount(of: column) &+ present &- former) }
        return nil
    }

    /// Takes back what the server refused of a counter. What the device counted since stays.
    ///
    /// - Returns: The refused amount, and the value that the app's column must show.
    mutating func rejectCounter(
        _ column: TableLayout.Column, _ sent: SentRow, _ current: RowPatch?
    ) -> (refused: Int64, shown: JSON) {
        // A page may have brought something later than the refusal knows of.
        if let current, current.values[column.name] != nil, current.seq ?? .max >= seq {
            _ = takeCounter(column, from: current, seq: current.seq, isDirty: true)
        }
        let refused = counters[column.bit]?.takeBack(sent.totals[column.name] ?? []) ?? 0
        let shown = baseCount(of: column) &+ (counters[column.bit]?.unsent ?? 0)
        return (refused, .int(shown))
    }

    /// Takes back everything that is unsent of some counters.
    mutating func takeBackCounters(in mask: Int64) {
        for (bit, counter) in counters where mask & (1 << bit) != 0 {
            counters[bit]?.totals = counter.totals.mapValues { total in
                var total = total
                total.value = total.confirmed
                return total
            }
        }
    }

    /// Takes note that the server holds nothing of the totals: all of them are unsent.
    mutating func forgetConfirmedCounters() {
        counters = counters.mapValues { counter in
            var counter = counter
            counter.totals = counter.totals.mapValues { Counter.Total(value: $0.value, stamp: $0.stamp) }
            return counter
        }
    }

    /// What the server holds of a dirty counter.
    private func baseCount(of column: TableLayout.Column) -> Int64 {
        base[column.name].flatMap(SQLLiteral.parse).flatMap { Int64.fromDatabaseValue($0) } ?? 0
    }

    /// The totals of the counters among some columns, as a push carries them. A counter in which nothing was counted
    /// here is not among them.
    func pushedTotals(of columns: [TableLayout.Column]) -> [String: [CounterTotal]] {
        let pushed = columns.filter(\.isCounter).compactMap { column in
            counters[column.bit].map { (column.name, $0.pushed) }
        }
        return Dictionary(uniqueKeysWithValues: pushed)
    }

    /// Values of the user's as the journal keeps them: of a counter, what was added and is not on the server.
    func kept(_ values: JSONObject, in layout: TableLayout) -> JSONObject {
        var values = values
        for column in layout.counters where values[column.name] != nil {
            values[column.name] = CounterChange.json(counters[column.bit]?.unsent ?? 0)
        }
        return values
    }
}

extension SentRow {
    /// The values as the rejections keep them: of a counter, what was added and the server does not have.
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

extension TableLayout {
    /// Most tables have none, and are asked for each row.
    var counters: [Column] { rules.counters.isEmpty ? [] : columns.filter(\.isCounter) }
}

extension TableLayout.Column {
    var isCounter: Bool {
        if case .counter = form { return true }
        return false
    }
}
