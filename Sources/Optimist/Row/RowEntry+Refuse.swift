// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Rows that the server did not take: it merged them into other rows, reported them as gone, or refused them.
extension RowEntry {
    /// Ends a row that the server merged into another one. Edits made after the push are lost.
    mutating func becomeOne(_ sentRow: SentRow, in layout: TableLayout) -> News {
        local?.answer(sentRow.mask)
        guard generation == sentRow.generation else {
            confirmEnd(of: sentRow.generation + 1, answeredAt: nil)
            return News()
        }
        let settled = sentRow.mask & ~edited(since: sentRow, in: layout)
        end(generation + 1, clock: nil)
        return News(settled: settled)
    }

    private func edited(since sentRow: SentRow, in layout: TableLayout) -> Int64 {
        layout.columns(in: dirty).reduce(0) { mask, column in
            unsentClock(of: column.name) == sentRow.clocks[column.name] ? mask : mask | column.mask
        }
    }

    /// Whether a page has brought the row's life again after the server reported the row as gone. If so, the server
    /// forgot the deletion, and another device sent the row (L4).
    func isThereAgain(since seq: Int64, in life: Int) -> Bool {
        isAlive && generation == life && remote.generation == life && !isRestored && seq > 0 && remote.seq > seq
    }

    /// - Parameter deletion: Nil if the server did not report it.
    mutating func giveUp(_ sentRow: SentRow, _ deletion: Tombstone?, in layout: TableLayout) {
        local?.answer(sentRow.mask)
        let life = sentRow.generation + sentRow.generation % 2
        let isEnd = deletion.map { $0.generation >= life && $0.generation % 2 == 0 } ?? false
        let told = isEnd ? deletion : nil
        let last = told?.generation ?? life
        if last <= generation {
            confirmEnd(of: last, answeredAt: told?.clock)
        } else {
            confirmEnd(of: life, answeredAt: nil)
        }
        guard generation == sentRow.generation else { return }
        if last == generation { return becomeClean() }
        // An edit made after the push may be later than the deletion. The server decides.
        if layout.rules.editWins, isAlive, edited(since: sentRow, in: layout) != 0 { return }
        end(last, clock: told?.clock)
    }

    mutating func reject(_ sentRow: SentRow, _ refusal: RemotePush.Refusal, in layout: TableLayout) -> Outcome {
        local?.answer(sentRow.mask)
        // Other devices may have the lost life, so it still counts as sent.
        if isRestored { local?.keepLifeSent() }
        // A cascade may already have deleted the row.
        guard generation == sentRow.generation, isPending else { return Outcome() }
        // The rejection does not keep edits made after the push.
        let settled = sentRow.mask & ~edited(since: sentRow, in: layout)
        var outcome =
            switch sentRow.kind {
            case .create: undoCreate(sentRow, refusal, in: layout)
            case .delete: undoDelete(refusal, in: layout)
            case .update, .move: undoUpdate(sentRow, refusal, in: layout)
            }
        outcome.news.settled |= settled
        return outcome
    }

    /// Undoes a refused create. If the row was edited after the push, it stays and is sent again, because the server
    /// did not refuse that version.
    private mutating func undoCreate(
        _ sentRow: SentRow, _ refusal: RemotePush.Refusal, in layout: TableLayout
    ) -> Outcome {
        if edited(since: sentRow, in: layout) & sentRow.mask != 0 { return Outcome() }
        // Another device created the row as well, and a page has brought it, perhaps in a later version than the
        // refusal's.
        if isKnownToServer, (refusal.current?.seq ?? 0) <= remote.seq {
            return undoUpdate(sentRow, refusal, in: layout)
        }
        let rejected = sentRow.kept(against: refusal.current)
        if let current = refusal.current { return Outcome(news: bringBack(current, in: layout), rejected: rejected) }
        giveUpUnsentLife()
        return Outcome(rejected: rejected)
    }

    private mutating func undoDelete(_ refusal: RemotePush.Refusal, in layout: TableLayout) -> Outcome {
        guard let current = refusal.current else {
            takeBackDeletion()
            return Outcome(rejected: [:])
        }
        let news = bringBack(current, in: layout)
        return Outcome(news: news, rejected: isAlive ? [:] : nil)
    }

    private mutating func undoUpdate(
        _ sentRow: SentRow, _ refusal: RemotePush.Refusal, in layout: TableLayout
    ) -> Outcome {
        if let life = refusal.current?.generation ?? (remote.generation > generation ? remote.generation : nil),
            life > generation
        {
            // The rejection also keeps the counts made after the push.
            let counters = layout.columns(in: sentRow.mask).filter(\.isCounter)
            var refused = sentRow
            refused.totals = pushedTotals(of: counters)
            let rejected = refused.kept(against: refusal.current)
            var news = undoRevival(life, refusal, in: layout)
            news.settled = counters.reduce(0) { $0 | $1.mask }
            return Outcome(news: news, rejected: rejected)
        }
        let isOvertaken = refusal.current?.seq.map { $0 < remote.seq } ?? false
        let current = refusal.current?.generation ?? generation == generation ? refusal.current : nil
        var mine = JSONObject()
        var restored = JSONObject()
        var cleared = sentRow.mask & TableLayout.lifeMask
        for column in layout.columns(in: sentRow.mask & dirty) {
            if column.isCounter {
                let (refused, shown) = rejectCounter(column, sentRow, current)
                if refused != 0 { mine.append(column.name, CounterChange.json(refused)) }
                restored.append(column.name, shown)
                if unsentClock(of: column.name) == sentRow.clocks[column.name] { cleared |= column.mask }
                continue
            }
            // A page may have brought a later value than the refusal's.
            let told = remote.clock(of: column)
            let server = current?.values[column.name].map { value in
                settledValue(
                    value, current?.clocks?[column.name], isReplaced: false, isOvertaken: isOvertaken, of: column)
            }
            if unsentClock(of: column.name) != sentRow.clocks[column.name] {
                if let server { local?.cover(column, column.literal(server)) }
                if remote.clock(of: column) != told { local?.noteUnread(column.mask) }
                continue
            }
            mine.append(column.name, sentRow.values[column.name] ?? .null)
            restored.append(column.name, server ?? baseValue(of: column) ?? .null)
            cleared |= column.mask
        }
        clear(cleared, in: layout)
        guard isOver else { return Outcome(news: News(values: restored), rejected: mine.isEmpty ? nil : mine) }
        if refusal.current?.seq ?? 0 < remote.seq {
            end(remote.generation, clock: nil)
        } else {
            remote.goBack(to: generation)
        }
        return Outcome(news: News(values: restored), rejected: mine.isEmpty && isAlive ? nil : mine)
    }
}
