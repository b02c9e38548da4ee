// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

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
        // It was sent in a life that the server has forgotten since: see ``moveUnsent(to:_:in:quote:)``.
        if isAlive, sent.generation > generation { return Settlement() }
        switch verdict {
        case .accepted(let seq):
            settled = push
            noteSeq(seq, of: sent.generation)
            return try accept(sent, RowPatch(), seq: seq, isInOrder: false, device: device, in: layout, quote: quote)
        case .merged(let seq, let won):
            let isInOrder = seq >= self.seq
            noteSeq(seq, of: won.generation ?? sent.generation)
            if let life = won.generation, life > sent.generation {
                let settlement = try enter(life, won, after: sent, device: device, in: layout, quote: quote)
                settleUnlessPending(push)
                return settlement
            }
            settled = push
            return try accept(sent, won, seq: seq, isInOrder: isInOrder, device: device, in: layout, quote: quote)
        case .mergedInto(let seq, _):
            settled = push
            self.seq = max(self.seq, seq)
            return becomeOne(sent, in: layout)
        case .gone(let seq, let deletion):
            if isThereAgain(since: seq, in: sent.generation) {
                takeBackSent(sent)
                return Settlement(isUndecided: true)
            }
            self.seq = max(self.seq, seq)
            let settlement = giveUp(sent, deletion, in: layout)
            settleUnlessPending(push)
            return settlement
        case .rejected(let refusal):
            let settlement = try reject(sent, refusal, in: layout, quote: quote)
            if settlement.rejected != nil { settled = push } else { settleUnlessPending(push) }
            return settlement
        case .blocked, .groupFailed:
            takeBackSent(sent)
            return Settlement()
        case .lifeUnknown:
            if hasOutlivedItsEnd, generation == sent.generation { goOnForgotten(in: layout) }
            return Settlement()
        case .retry:
            return Settlement()
        }
    }

    /// The server did not take what was sent, and it is not kept as refused either: what is still pending of the row decides what
    /// becomes of it, in a later push (Q4).
    private mutating func settleUnlessPending(_ push: Int64) { if !isPending { settled = push } }

    /// When a life ended before what was sent of it was taken, the server may have forgotten that end. The page that tells has
    /// to count as later then (L4).
    private mutating func noteSeq(_ seq: Int64, of life: Int) {
        if life >= generation { self.seq = max(self.seq, seq) }
    }

    /// The server says that it did not apply what was sent. What an earlier push may have brought stays noted.
    private mutating func takeBackSent(_ sentRow: SentRow) {
        // A column that a page has settled meanwhile is no longer unanswered.
        guard isPending else { return }
        sent = sent & ~sentRow.mask | sentRow.sentBefore
        endUnsentLife()
    }

    /// The life in which the row was deleted never left the device: it is deleted in the one that the server knows, unless that
    /// is over. An unsent deletion of that one stays, though another device has ended it: the two may have an edit between
    /// them, which brings the row back (M2).
    mutating func endUnsentLife() {
        guard !isAlive, sent == 0, generation != acked || dirty == 0 else { return }
        generation = acked + acked % 2
        if acked % 2 == 0, !isHealing { becomeClean() }
    }

    // MARK: - Accepted and merged

    /// Books that the server has the sent values, except for the columns where its own value won.
    ///
    /// A page may have brought something later meanwhile: what was confirmed is never taken back, and a column that is
    /// no longer dirty follows its base.
    private mutating func accept(
        _ sentRow: SentRow, _ won: RowPatch, seq: Int64, isInOrder: Bool, device: String, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Settlement {
        let isFirst = acked < sentRow.generation
        if sentRow.kind == .delete { confirmEnd(of: sentRow.generation, answeredAt: sentRow.deletion) }
        acked = max(acked, sentRow.generation)
        sent &= ~sentRow.mask
        guard generation == sentRow.generation else { return Settlement() }
        if isFirst, sentRow.kind != .delete {
            // A clock that the server has reined in is the latest that counts.
            let mine = Clock(stamp: sentRow.lifeStamp, device: device)
            confirmed = ColumnClocks(common: min(mine, won.clocks?.earliest ?? mine))
            known = layout.mask(of: sentRow.values)
        }
        var settlement = Settlement()
        var taken = JSONObject()
        var cleared = sentRow.mask & TableLayout.lifeMask
        for column in layout.columns(in: sentRow.mask) {
            guard let stamp = sentRow.stamps[column.name] else { continue }
            if column.isCounter {
                let isDirty = unsentStamp(of: column.name) != stamp
                if !isDirty { cleared |= column.mask }
                let shown = settleCounter(column, sentRow, won, seq: seq, isInOrder: isInOrder, isDirty: isDirty)
                if let shown { taken.append(column.name, shown) }
                continue
            }
            let answer = won.values[column.name]
            guard let mine = sentRow.values[column.name] else { continue }
            let clock = answer == nil ? Clock(stamp: stamp, device: device) : won.clocks?[column.name]
            let server = settledValue(
                answer ?? mine, clock, isReplaced: answer != nil && isFirst, isOvertaken: seq < self.seq, of: column)
            if unsentStamp(of: column.name) != stamp {
                base[column.name] = try quote(column, server)
                // The server reined in the clock of the sent value: the edit made meanwhile is later all the same (M4).
                if answer == mine, let clock, clock.stamp >= unsentStamp(of: column.name) {
                    stamps[column.name] = clock.stamp.successor
                }
                continue
            }
            cleared |= column.mask
            if server != mine {
                taken.append(column.name, server)
                settlement.overwritten.append(column.name, mine)
            }
        }
        clear(cleared, in: layout)
        if isOver, seq < self.seq {
            // The page that told of its end knows of more.
            settlement.change = end(acked, clock: nil).change
        } else if !taken.isEmpty, isAlive {
            settlement.change = .set(taken)
        }
        return settlement
    }

    /// What the server holds of a column after an answer: the answer's value or, if a page was later, the page's.
    ///
    /// - Parameter isOvertaken: Whether a page came before of a later transaction than the answer. Where clocks are missing
    ///   that decides.
    mutating func settledValue(
        _ value: JSON, _ clock: Clock?, isReplaced: Bool, isOvertaken: Bool, of column: TableLayout.Column
    ) -> JSON {
        if isOvertaken, !isReplaced, clock == nil || isWithoutClock(column) {
            return baseValue(of: column) ?? value
        }
        if let clock, let known = confirmedClock(of: column), known > clock, !isReplaced {
            return baseValue(of: column) ?? value
        }
        confirm(column, clock)
        return value
    }

    /// The server has the row in a later life than the one that was sent.
    private mutating func enter(
        _ life: Int, _ won: RowPatch, after sentRow: SentRow, device: String, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Settlement {
        sent &= ~sentRow.mask
        let isFirst = acked < life
        acked = max(acked, life)
        if life == generation, isFirst {
            // The confirmed clocks of an earlier life no longer count; a page brings those of this life.
            confirmed = ColumnClocks()
            known = 0
        }
        guard life > generation else { return Settlement() }
        if isDeletedLater(than: won, device: device, in: layout) {
            generation = life + 1
            return Settlement()
        }
        let reception =
            survives(into: life, in: layout)
            ? try rejoin(life, won, device: device, in: layout, quote: quote) : begin(life, won, in: layout)
        return Settlement(change: reception.change, lost: reception.lost, kept: reception.kept)
    }
}
