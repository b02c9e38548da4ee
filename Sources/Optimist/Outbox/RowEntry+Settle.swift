// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What a verdict comes to, beside the change of the entry itself.
struct Settlement: Equatable, Sendable {
    var change = RowChange.none
    /// The user's own values that were refused. Nil: nothing was.
    var rejected: JSONObject?
    /// The user's own values that lost to newer ones.
    var overwritten = JSONObject()
}

extension RowEntry {
    /// Books a verdict (V, S4): clears exactly the versions that were sent, and nothing that was edited meanwhile.
    ///
    /// - Parameters:
    ///   - push: The number of the push that is answered.
    ///   - device: The device whose clock stamped what was sent.
    mutating func settle(
        _ sent: SentRow, _ verdict: Verdict, push: Int64, device: String, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Settlement {
        switch verdict {
        case .accepted(let seq):
            try accept(sent, seq: seq, device: device, in: layout, quote: quote)
            settled = push
            return Settlement()
        case .merged(let seq, let won):
            try accept(sent, seq: seq, device: device, in: layout, quote: quote)
            settled = push
            return try take(won, instead: sent, in: layout, quote: quote)
        case .gone:
            settled = push
            return giveUp(sent)
        case .rejected(let refusal):
            settled = push
            return try reject(sent, refusal, in: layout, quote: quote)
        case .retry, .blocked:
            return Settlement()
        }
    }

    // MARK: - Accepted and merged

    private mutating func accept(
        _ sentRow: SentRow, seq: Int64, device: String, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows {
        self.seq = max(self.seq, seq)
        acked = max(acked, sentRow.generation)
        sent &= ~sentRow.mask
        guard generation == sentRow.generation else { return }
        if sentRow.kind != .update { confirmed = ColumnClocks(common: Clock(stamp: sentRow.lifeStamp, device: device)) }
        var cleared = sentRow.mask & TableLayout.lifeMask
        for column in layout.columns(in: sentRow.mask) {
            guard let stamp = sentRow.stamps[column.name] else { continue }
            confirm(column.name, Clock(stamp: stamp, device: device))
            if unsentStamp(of: column.name) == stamp {
                cleared |= column.mask
            } else {
                base[column.name] = try quote(column, sentRow.values[column.name] ?? .null)
            }
        }
        clear(cleared, in: layout)
    }

    private mutating func take(
        _ won: RowPatch, instead sentRow: SentRow, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Settlement {
        guard generation == sentRow.generation, isAlive else { return Settlement() }
        var settlement = Settlement()
        var taken = JSONObject()
        for (name, value) in won.values {
            guard let column = layout[column: name] else { continue }
            if let clock = won.clocks?[name] { confirm(name, clock) }
            if dirty & column.mask != 0 {
                base[name] = try quote(column, value)
            } else if let mine = sentRow.values[name], mine != value {
                taken.append(name, value)
                settlement.overwritten.append(name, mine)
            } else if sentRow.values[name] == nil {
                taken.append(name, value)
            }
        }
        if !taken.isEmpty { settlement.change = .set(taken) }
        return settlement
    }

    // MARK: - Gone and rejected

    private mutating func giveUp(_ sentRow: SentRow) -> Settlement {
        sent &= ~sentRow.mask
        acked = max(acked, sentRow.generation + sentRow.generation % 2)
        guard generation == sentRow.generation else { return Settlement() }
        let reception = end(sentRow.generation + sentRow.generation % 2, clock: nil)
        return Settlement(change: reception.change, overwritten: sentRow.values)
    }

    private mutating func reject(
        _ sentRow: SentRow, _ refusal: Refusal, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Settlement {
        sent &= ~sentRow.mask
        guard generation == sentRow.generation else { return Settlement() }
        switch sentRow.kind {
        case .create: return undoCreate(sentRow, refusal, in: layout)
        case .delete: return undoDelete(refusal)
        case .update: return try undoUpdate(sentRow, refusal, in: layout, quote: quote)
        }
    }

    /// A row that the user has changed since is sent again as it is now: nothing of it was refused yet.
    private mutating func undoCreate(_ sentRow: SentRow, _ refusal: Refusal, in layout: TableLayout) -> Settlement {
        let edited = layout.columns(in: dirty & sentRow.mask).contains {
            unsentStamp(of: $0.name) != sentRow.stamps[$0.name]
        }
        if edited { return Settlement() }
        becomeClean()
        if let current = refusal.current {
            generation = current.generation ?? generation
            acked = generation
            confirmed = current.clocks ?? ColumnClocks()
            return Settlement(change: .put(current.values), rejected: sentRow.values)
        }
        generation = acked
        return Settlement(change: .delete, rejected: sentRow.values)
    }

    private mutating func undoDelete(_ refusal: Refusal) -> Settlement {
        becomeClean()
        guard let current = refusal.current else { return Settlement(rejected: [:]) }
        generation = current.generation ?? generation - 1
        acked = generation
        confirmed = current.clocks ?? ColumnClocks()
        return Settlement(change: .put(current.values), rejected: [:])
    }

    private mutating func undoUpdate(
        _ sentRow: SentRow, _ refusal: Refusal, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Settlement {
        var mine = JSONObject()
        var restored = JSONObject()
        var cleared: Int64 = 0
        for column in layout.columns(in: sentRow.mask & dirty) {
            let server = refusal.current?.values[column.name]
            if unsentStamp(of: column.name) != sentRow.stamps[column.name] {
                if let server { base[column.name] = try quote(column, server) }
                continue
            }
            mine.append(column.name, sentRow.values[column.name] ?? .null)
            let literal = base[column.name].flatMap(SQLLiteral.parse)
            restored.append(column.name, server ?? literal.map(column.form.wire) ?? .null)
            if let clock = refusal.current?.clocks?[column.name] { confirm(column.name, clock) }
            cleared |= column.mask
        }
        clear(cleared, in: layout)
        return mine.isEmpty ? Settlement() : Settlement(change: .set(restored), rejected: mine)
    }
}
