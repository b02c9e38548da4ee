// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What becomes of a row that the server did not take: it lives on as another one, is gone, or was refused.
extension RowEntry {
    /// The row lives on as another one. Edits made meanwhile are lost to that.
    mutating func becomeOne(_ sentRow: SentRow, in layout: TableLayout) -> Settlement {
        sent &= ~sentRow.mask
        guard generation == sentRow.generation else {
            confirmEnd(of: sentRow.generation + 1, answeredAt: nil)
            return Settlement()
        }
        let edited = edited(since: sentRow, in: layout)
        let reception = end(generation + 1, clock: nil)
        return Settlement(change: reception.change, lost: edited)
    }

    /// The unsent columns that have another value by now than was sent.
    private func edited(since sentRow: SentRow, in layout: TableLayout) -> Int64 {
        layout.columns(in: dirty).reduce(0) { mask, column in
            unsentStamp(of: column.name) == sentRow.stamps[column.name] ? mask : mask | column.mask
        }
    }

    /// Whether a page has brought the row since the server said that it is gone. In the same life: the server has forgotten that
    /// the row was deleted, and another device has sent it again (L4).
    func isThereAgain(since seq: Int64, in life: Int) -> Bool {
        isAlive && generation == life && acked == life && !isHealing && seq > 0 && self.seq > seq
    }

    /// - Parameter deletion: How the row was deleted. Nil: the server does not say.
    mutating func giveUp(_ sentRow: SentRow, _ deletion: Tombstone?, in layout: TableLayout) -> Settlement {
        sent &= ~sentRow.mask
        let life = sentRow.generation + sentRow.generation % 2
        let isEnd = deletion.map { $0.generation >= life && $0.generation % 2 == 0 } ?? false
        let told = isEnd ? deletion : nil
        let last = told?.generation ?? life
        if last <= generation {
            confirmEnd(of: last, answeredAt: told?.clock)
        } else {
            confirmEnd(of: life, answeredAt: nil)
        }
        guard generation == sentRow.generation else { return Settlement() }
        if last == generation {
            becomeClean()
            return Settlement()
        }
        // An edit made since may be later than the deletion. The server says so when it has it.
        if layout.rules.editWins, isAlive, edited(since: sentRow, in: layout) != 0 { return Settlement() }
        let reception = end(last, clock: told?.clock)
        return Settlement(change: reception.change, lost: reception.lost)
    }

    mutating func reject(
        _ sentRow: SentRow, _ refusal: Refusal, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Settlement {
        sent &= ~sentRow.mask
        // A row that went with a deletion meanwhile is no longer unsent.
        guard generation == sentRow.generation, isPending else { return Settlement() }
        switch sentRow.kind {
        case .create: return try undoCreate(sentRow, refusal, in: layout, quote: quote)
        case .delete: return undoDelete(refusal, in: layout)
        case .update: return try undoUpdate(sentRow, refusal, in: layout, quote: quote)
        }
    }

    /// A row that the user has changed since is sent again as it is now: nothing of it was refused yet.
    private mutating func undoCreate(
        _ sentRow: SentRow, _ refusal: Refusal, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Settlement {
        if edited(since: sentRow, in: layout) & sentRow.mask != 0 { return Settlement() }
        // Another device made the row too, and a page has brought it since, perhaps later than the refusal knows of.
        if isKnownToServer, !sentRow.heals, (refusal.current?.seq ?? 0) <= seq {
            return try undoUpdate(sentRow, refusal, in: layout, quote: quote)
        }
        let rejected = sentRow.kept(against: refusal.current)
        if let current = refusal.current {
            return Settlement(change: bringBack(current, in: layout), rejected: rejected)
        }
        giveUpUnsentLife()
        return Settlement(change: .delete, rejected: rejected)
    }

    private mutating func undoDelete(_ refusal: Refusal, in layout: TableLayout) -> Settlement {
        guard let current = refusal.current else {
            takeBackDeletion()
            return Settlement(rejected: [:])
        }
        let change = bringBack(current, in: layout)
        return Settlement(change: change, rejected: change == .none ? nil : [:])
    }

    private mutating func undoUpdate(
        _ sentRow: SentRow, _ refusal: Refusal, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Settlement {
        if let life = refusal.current?.generation ?? (acked > generation ? acked : nil), life > generation {
            return undoRevival(life, sentRow, refusal, in: layout)
        }
        let isOvertaken = refusal.current?.seq.map { $0 < seq } ?? false
        // What it tells of a former life is over.
        let current = refusal.current?.generation ?? generation == generation ? refusal.current : nil
        var mine = JSONObject()
        var restored = JSONObject()
        var cleared = sentRow.mask & TableLayout.lifeMask
        for column in layout.columns(in: sentRow.mask & dirty) {
            if column.isCounter {
                let (refused, shown) = rejectCounter(column, sentRow, current)
                if refused != 0 { mine.append(column.name, CounterChange.json(refused)) }
                restored.append(column.name, shown)
                if unsentStamp(of: column.name) == sentRow.stamps[column.name] { cleared |= column.mask }
                continue
            }
            // A page may have brought something later than the refusal knows of.
            let server = current?.values[column.name].map { value in
                settledValue(
                    value, current?.clocks?[column.name], isReplaced: false, isOvertaken: isOvertaken, of: column)
            }
            if unsentStamp(of: column.name) != sentRow.stamps[column.name] {
                if let server { base[column.name] = try quote(column, server) }
                continue
            }
            mine.append(column.name, sentRow.values[column.name] ?? .null)
            restored.append(column.name, server ?? baseValue(of: column) ?? .null)
            cleared |= column.mask
        }
        clear(cleared, in: layout)
        let isGone = isOver && refusal.current?.seq ?? 0 < seq
        let change = isGone ? end(acked, clock: nil).change : restored.isEmpty ? .none : .set(restored)
        return Settlement(change: change, rejected: mine.isEmpty && !isGone ? nil : mine)
    }
}
