// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// A verdict's effect on a row and its sent values.
struct Outcome: Equatable, Sendable {
    var news = News()
    /// The user's values that the server refused. Nil if it refused nothing.
    var rejected: JSONObject?
    /// The user's values that lost to newer ones.
    var overwritten = JSONObject()
    /// Whether the answer was too late to decide anything, so the row is sent again.
    var isUndecided = false
}

extension RowEntry {
    /// Applies a verdict (V, S4). Clears exactly the versions that were sent, and no later edit.
    mutating func settle(
        _ sent: SentRow, _ verdict: RemotePush.Verdict, push: Int64, device: String, in layout: TableLayout
    ) -> (rendering: Rendering, outcome: Outcome) {
        let sent = following(sent, verdict)
        let before = self
        let outcome = apply(verdict, to: sent, push: push, device: device, in: layout)
        // A row removed during its push is in the server's life.
        if !isPending { generation = remote.generation }
        return (rendering(of: outcome.news, since: before, in: layout), outcome)
    }

    private mutating func apply(
        _ verdict: RemotePush.Verdict, to sent: SentRow, push: Int64, device: String, in layout: TableLayout
    ) -> Outcome {
        // The server has forgotten the life that was sent: see ``moveUnsent(to:_:device:in:)``.
        if isAlive, sent.generation > generation { return Outcome() }
        // The server has lost the row, not deleted it.
        if isRestored, !sent.restores, verdict.isGone { return Outcome(isUndecided: true) }
        switch verdict {
        case .accepted(let seq):
            remote.answer(push)
            noteSeq(seq, of: sent.generation)
            return accept(sent, RowPatch(), seq: seq, isInOrder: false, device: device, in: layout)
        case .merged(let seq, let won):
            let isInOrder = seq >= remote.seq
            noteSeq(seq, of: won.generation ?? sent.generation)
            if let life = won.generation, life > sent.generation {
                let news = enter(life, won, after: sent, device: device, in: layout)
                settleUnlessPending(push)
                return Outcome(news: news)
            }
            remote.answer(push)
            return accept(sent, won, seq: seq, isInOrder: isInOrder, device: device, in: layout)
        case .mergedInto(let seq, _):
            remote.answer(push)
            remote.hear(seq: seq)
            return Outcome(news: becomeOne(sent, in: layout))
        case .gone(let seq, let deletion):
            if isThereAgain(since: seq, in: sent.generation) {
                takeBackSent(sent)
                return Outcome(isUndecided: true)
            }
            remote.hear(seq: seq)
            giveUp(sent, deletion, in: layout)
            settleUnlessPending(push)
        case .rejected(let refusal):
            let outcome = reject(sent, refusal, in: layout)
            if outcome.rejected != nil { remote.answer(push) } else { settleUnlessPending(push) }
            return outcome
        case .blocked, .groupFailed: takeBackSent(sent)
        case .lifeUnknown: if hasOutlivedItsEnd, generation == sent.generation { goOnForgotten(in: layout) }
        case .retry, .leaves: break
        }
        return Outcome()
    }

    /// If the row is pending, a later push decides (Q4).
    private mutating func settleUnlessPending(_ push: Int64) { if !isPending { remote.answer(push) } }

    /// Skips answers about an earlier life. The server may have forgotten that life's end, and a page that reports this
    /// must still count as later (L4).
    private mutating func noteSeq(_ seq: Int64, of life: Int) {
        if life >= generation { remote.hear(seq: seq) }
    }

    /// The server did not apply the push. Columns that an earlier push may have delivered still count as sent.
    private mutating func takeBackSent(_ sentRow: SentRow) {
        // A page has already settled the row.
        guard isPending else { return }
        local?.takeBack(sentRow)
        endUnsentLife()
    }

    /// Moves the user's deletion to the server's life, because the deleted life never left the device.
    ///
    /// If the server's life is over, nothing remains unsent, except the user's deletion of that very life: an edit
    /// between the two deletions may have revived the row (M2).
    mutating func endUnsentLife() {
        guard !isAlive, sent == 0, generation != remote.generation || dirty == 0 else { return }
        generation = remote.generation + remote.generation % 2
        if remote.generation % 2 == 0 { becomeClean() }
    }

    // MARK: - Accepted and merged

    /// Confirms the sent values, except where the server's value won. Later values from pages are kept.
    private mutating func accept(
        _ sentRow: SentRow, _ won: RowPatch, seq: Int64, isInOrder: Bool, device: String, in layout: TableLayout
    ) -> Outcome {
        let isFirst = remote.generation < sentRow.generation
        if sentRow.kind == .delete { confirmEnd(of: sentRow.generation, answeredAt: sentRow.deletion) }
        remote.hear(life: sentRow.generation)
        local?.answer(sentRow.mask)
        guard generation == sentRow.generation else { return Outcome() }
        if isFirst, sentRow.kind != .delete {
            remote.accept(sentRow.confirmed(with: won, device: device), of: layout.mask(of: sentRow.values))
        }
        var outcome = Outcome(news: News(settled: sentRow.mask))
        var (answered, cleared): (Int64, Int64) = (0, sentRow.mask & TableLayout.lifeMask)
        for column in layout.columns(in: sentRow.mask) where column.isCounter || dirty & column.mask != 0 {
            guard let edit = sentRow.clocks[column.name] else { continue }
            answered |= column.mask
            let isDirty = unsentClock(of: column.name) != edit
            if !isDirty { cleared |= column.mask }
            if column.isCounter {
                let shown = settleCounter(column, sentRow, won, seq: seq, isInOrder: isInOrder, isDirty: isDirty)
                if let shown { outcome.news.values.append(column.name, shown) }
            } else if let mine = sentRow.values[column.name] {
                let server = settleColumn(
                    column, mine, edit.clock(device), won, seq: seq, isFirst: isFirst, isDirty: isDirty)
                guard !isDirty, server != mine else { continue }
                outcome.news.values.append(column.name, server)
                if edit.original == nil, edit != .ofMigrations { outcome.overwritten.append(column.name, mine) }
            }
        }
        clear(cleared, in: layout)
        if isAlive {
            outcome.news.values.replace(
                with: takeOthers(of: won, besides: answered, isInOrder: isInOrder, device: device, in: layout))
        }
        guard isOver else { return outcome }
        if seq < remote.seq {
            // The page that reported the row's end is later than this answer.
            end(remote.generation, clock: nil)
        } else {
            // The edit has revived the row.
            remote.goBack(to: generation)
        }
        return outcome
    }

    /// Applies an answer to a column that is still unsent.
    ///
    /// - Parameters:
    ///   - mine: The sent value.
    ///   - sent: The sent value's clock.
    ///   - isDirty: Whether the user has edited the column after the push.
    /// - Returns: The server's value.
    private mutating func settleColumn(
        _ column: TableLayout.Column, _ mine: JSON, _ sent: WriteClock, _ won: RowPatch, seq: Int64, isFirst: Bool,
        isDirty: Bool
    ) -> JSON {
        let answer = won.values[column.name]
        let clock = answer == nil ? sent : won.clocks?[column.name]
        let server = settledValue(
            answer ?? mine, clock, isReplaced: answer != nil && isFirst, isOvertaken: seq < remote.seq, of: column)
        guard isDirty else { return server }
        local?.cover(column, column.literal(server))
        noteCovered(column, device: sent.device)
        // The server set back the sent value's clock. A later edit must stay later (M4).
        if answer == mine, let clock, let own = unsentClock(of: column.name).ownStamp, clock.stamp >= own {
            local?.stamp(column, clock.stamp.successor)
        }
        return server
    }

    /// Takes columns of an answer that were not sent, or that a page has settled. The answer has such columns if the
    /// server had lost only a part of the row.
    ///
    /// - Returns: The values that the app's table must show.
    private mutating func takeOthers(
        of won: RowPatch, besides mask: Int64, isInOrder: Bool, device: String, in layout: TableLayout
    ) -> JSONObject {
        let others = won.values.members.filter { name, _ in
            guard let column = layout[column: name] else { return false }
            return mask & column.mask == 0 && (isInOrder || !column.isCounter)
        }
        let unsent = RowPatch(generation: generation, clocks: won.clocks, values: JSONObject(others), mine: won.mine)
        return mergeColumns(of: unsent, isInOrder: isInOrder, isLater: false, device: device, in: layout).values
    }

    /// The server's value after an answer: the value in the answer or, if a page was later, in the page.
    ///
    /// - Parameter isOvertaken: Whether a page of a later transaction arrived first. If clocks are missing, this
    ///   decides.
    mutating func settledValue(
        _ value: JSON, _ clock: WriteClock?, isReplaced: Bool, isOvertaken: Bool, of column: TableLayout.Column
    ) -> JSON {
        if isOvertaken, !isReplaced, clock == nil || remote.isWithoutClock(column) {
            return baseValue(of: column) ?? value
        }
        if let clock, let told = remote.clock(of: column), told > clock, !isReplaced {
            return baseValue(of: column) ?? value
        }
        remote.hear(column, at: clock)
        return value
    }

    private mutating func enter(
        _ life: Int, _ won: RowPatch, after sentRow: SentRow, device: String, in layout: TableLayout
    ) -> News {
        local?.answer(sentRow.mask)
        if life == generation, remote.generation < life {
            // Clocks of an earlier life no longer count.
            remote.begin(life)
        }
        remote.hear(life: life)
        guard life > generation else { return News() }
        if isDeletedLater(than: won, device: device, in: layout) {
            generation = life + 1
            return News()
        }
        return survives(into: life, in: layout)
            ? rejoin(life, won, device: device, in: layout) : begin(life, won, in: layout)
    }
}
