// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension RowEntry {
    /// Applies a verdict (V, S4): clears exactly the versions that were sent, and nothing that was edited meanwhile.
    ///
    /// - Parameters:
    ///   - push: The number of the push that the verdict answers.
    ///   - device: The id of the device that stamped the sent values.
    mutating func settle(
        _ sent: SentRow, _ verdict: RemotePush.Verdict, push: Int64, device: String, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Rendering {
        let rendering = try apply(verdict, to: sent, push: push, device: device, in: layout, quote: quote)
        // A row that was taken away here while its push was on its way is in the life that the server gave it.
        if !isPending { generation = remote.generation }
        return rendering
    }

    private mutating func apply(
        _ verdict: RemotePush.Verdict, to sent: SentRow, push: Int64, device: String, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Rendering {
        // The server has since forgotten the life in which the row was sent: see ``moveUnsent(to:_:in:quote:)``.
        if isAlive, sent.generation > generation { return Rendering() }
        // The server has lost the row. It did not delete it.
        if isRestored, !sent.restores, verdict.isGone { return Rendering(isUndecided: true) }
        switch verdict {
        case .accepted(let seq):
            remote.answer(push)
            noteSeq(seq, of: sent.generation)
            return try accept(sent, RowPatch(), seq: seq, isInOrder: false, device: device, in: layout, quote: quote)
        case .merged(let seq, let won):
            let isInOrder = seq >= remote.seq
            noteSeq(seq, of: won.generation ?? sent.generation)
            if let life = won.generation, life > sent.generation {
                let rendering = try enter(life, won, after: sent, device: device, in: layout, quote: quote)
                settleUnlessPending(push)
                return rendering
            }
            remote.answer(push)
            return try accept(sent, won, seq: seq, isInOrder: isInOrder, device: device, in: layout, quote: quote)
        case .mergedInto(let seq, _):
            remote.answer(push)
            remote.hear(seq: seq)
            return becomeOne(sent, in: layout)
        case .gone(let seq, let deletion):
            if isThereAgain(since: seq, in: sent.generation) {
                takeBackSent(sent)
                return Rendering(isUndecided: true)
            }
            remote.hear(seq: seq)
            let rendering = giveUp(sent, deletion, in: layout)
            settleUnlessPending(push)
            return rendering
        case .rejected(let refusal):
            let rendering = try reject(sent, refusal, in: layout, quote: quote)
            if rendering.rejected != nil { remote.answer(push) } else { settleUnlessPending(push) }
            return rendering
        case .blocked, .groupFailed:
            takeBackSent(sent)
            return Rendering()
        case .lifeUnknown:
            if hasOutlivedItsEnd, generation == sent.generation { goOnForgotten(in: layout) }
            return Rendering()
        case .retry:
            return Rendering()
        }
    }

    /// Notes the push as the last one answered, if nothing of the row is pending. The server did not take what was
    /// sent, and no rejection keeps it. If something is still pending, a later push decides what becomes of the row
    /// (Q4).
    private mutating func settleUnlessPending(_ push: Int64) { if !isPending { remote.answer(push) } }

    /// Notes the server's transaction, unless the answer is about an earlier life than the present one. Such a life
    /// ended before the server took what was sent of it, and the server may have forgotten that end. A page that tells
    /// this must then count as later (L4).
    private mutating func noteSeq(_ seq: Int64, of life: Int) {
        if life >= generation { remote.hear(seq: seq) }
    }

    /// Notes that the server did not apply what was sent. Columns that an earlier push may have brought to it still
    /// count as sent.
    private mutating func takeBackSent(_ sentRow: SentRow) {
        // If a page has settled the row meanwhile, none of its columns is unanswered.
        guard isPending else { return }
        local?.takeBack(sentRow)
        endUnsentLife()
    }

    /// Moves the user's deletion to the life that the server knows, because the life in which the user deleted the row
    /// never left the device. If the server's life is over, nothing stays unsent. If the deletion is of the server's
    /// life itself, it stays even if another device has ended that life: an edit may lie between the two deletions and
    /// bring the row back (M2).
    mutating func endUnsentLife() {
        guard !isAlive, sent == 0, generation != remote.generation || dirty == 0 else { return }
        generation = remote.generation + remote.generation % 2
        if remote.generation % 2 == 0 { becomeClean() }
    }

    // MARK: - Accepted and merged

    /// Notes that the server has the sent values, except for the columns where its own value won.
    ///
    /// A page may have brought something later meanwhile. A confirmed value is never taken back, and a column that is
    /// no longer dirty takes the value of its base.
    private mutating func accept(
        _ sentRow: SentRow, _ won: RowPatch, seq: Int64, isInOrder: Bool, device: String, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Rendering {
        let isFirst = remote.generation < sentRow.generation
        if sentRow.kind == .delete { confirmEnd(of: sentRow.generation, answeredAt: sentRow.deletion) }
        remote.hear(life: sentRow.generation)
        local?.answer(sentRow.mask)
        guard generation == sentRow.generation else { return Rendering() }
        if isFirst, sentRow.kind != .delete {
            remote.accept(sentRow.confirmed(with: won, device: device), of: layout.mask(of: sentRow.values))
        }
        var rendering = Rendering()
        var taken = JSONObject()
        var (answered, cleared): (Int64, Int64) = (0, sentRow.mask & TableLayout.lifeMask)
        for column in layout.columns(in: sentRow.mask) where column.isCounter || dirty & column.mask != 0 {
            guard let edit = sentRow.clocks[column.name] else { continue }
            answered |= column.mask
            let isDirty = unsentClock(of: column.name) != edit
            if !isDirty { cleared |= column.mask }
            if column.isCounter {
                let shown = settleCounter(column, sentRow, won, seq: seq, isInOrder: isInOrder, isDirty: isDirty)
                if let shown { taken.append(column.name, shown) }
            } else if let mine = sentRow.values[column.name] {
                let server = try settleColumn(
                    column, mine, edit.clock(device), won, seq: seq, isFirst: isFirst, isDirty: isDirty, quote: quote)
                guard !isDirty, server != mine else { continue }
                taken.append(column.name, server)
                if edit.original == nil, edit != .ofMigrations { rendering.overwritten.append(column.name, mine) }
            }
        }
        clear(cleared, in: layout)
        if isAlive {
            taken.replace(
                with: try takeOthers(
                    of: won, besides: answered, isInOrder: isInOrder, device: device, in: layout, quote: quote))
        }
        if isOver, seq < remote.seq {
            // The page that told the row's end is later than this answer.
            rendering.change = end(remote.generation, clock: nil, in: layout).change
            return rendering
        }
        // The edit has brought the row back.
        if isOver { remote.goBack(to: generation) }
        if !taken.isEmpty, isAlive { rendering.change = .set(taken) }
        return rendering
    }

    /// Applies an answer to a column that was sent and is still unsent.
    ///
    /// - Parameters:
    ///   - mine: The value that was sent.
    ///   - sent: The clock of that value.
    ///   - isDirty: Whether the user has edited the column meanwhile.
    /// - Returns: The server's value, which is the base of a later edit.
    private mutating func settleColumn(
        _ column: TableLayout.Column, _ mine: JSON, _ sent: WriteClock, _ won: RowPatch, seq: Int64, isFirst: Bool,
        isDirty: Bool, quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> JSON {
        let answer = won.values[column.name]
        let clock = answer == nil ? sent : won.clocks?[column.name]
        let server = settledValue(
            answer ?? mine, clock, isReplaced: answer != nil && isFirst, isOvertaken: seq < remote.seq, of: column)
        guard isDirty else { return server }
        local?.cover(column, try quote(column, server))
        noteCovered(column, device: sent.device)
        // The server set back the clock of the sent value. The user's edit since must still be later (M4).
        if answer == mine, let clock, let own = unsentClock(of: column.name).ownStamp, clock.stamp >= own {
            local?.stamp(column, clock.stamp.successor)
        }
        return server
    }

    /// Takes the columns of an answer that were not sent, or that a page has settled meanwhile. The answer has such
    /// columns if the server had more of the row than it had lost.
    ///
    /// - Parameter mask: The columns that the answer has settled.
    /// - Returns: The values that the app's table must show.
    private mutating func takeOthers(
        of won: RowPatch, besides mask: Int64, isInOrder: Bool, device: String, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> JSONObject {
        let others = won.values.members.filter { name, _ in
            guard let column = layout[column: name] else { return false }
            return mask & column.mask == 0 && (isInOrder || !column.isCounter)
        }
        let unsent = RowPatch(generation: generation, clocks: won.clocks, values: JSONObject(others), mine: won.mine)
        let rendering = try mergeColumns(
            of: unsent, isInOrder: isInOrder, isLater: false, device: device, in: layout, quote: quote)
        if case .set(let values) = rendering.change { return values }
        return [:]
    }

    /// The server's value of a column after an answer: the answer's value or, if a page was later, the page's.
    ///
    /// - Parameter isOvertaken: Whether a page of a later transaction than the answer's came first. This decides where
    ///   clocks are missing.
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

    /// Applies an answer which says that the server has the row in a later life than the one that was sent.
    private mutating func enter(
        _ life: Int, _ won: RowPatch, after sentRow: SentRow, device: String, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Rendering {
        local?.answer(sentRow.mask)
        if life == generation, remote.generation < life {
            // The confirmed clocks of an earlier life no longer count. A page brings those of this life.
            remote.begin(life)
        }
        remote.hear(life: life)
        guard life > generation else { return Rendering() }
        if isDeletedLater(than: won, device: device, in: layout) {
            generation = life + 1
            return Rendering()
        }
        return survives(into: life, in: layout)
            ? try rejoin(life, won, device: device, in: layout, quote: quote) : begin(life, won, in: layout)
    }
}
