// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension RowEntry {
    /// Takes a row from a page (R2, R5).
    ///
    /// Within one life, the later clock wins in each column, so pages and verdicts may arrive in any order. Without
    /// clocks, the order of the server's transactions decides. A value received for an unsent column becomes the
    /// column's base value.
    ///
    /// - Parameter head: The server's last transaction when it read the row. Nil if unknown.
    mutating func receive(_ patch: RowPatch, asOf head: Int64? = nil, device: String, in layout: TableLayout)
        -> Rendering
    {
        let before = self
        guard let news = take(patch, asOf: head, device: device, in: layout) else {
            return Rendering(placement: .waiting(.belowUnsent))
        }
        return rendering(of: news, since: before, in: layout)
    }

    /// - Returns: Nil if the row must wait behind an unsent life or deletion.
    private mutating func take(_ patch: RowPatch, asOf head: Int64?, device: String, in layout: TableLayout) -> News? {
        let life = patch.generation ?? 1
        if life == generation { yieldOriginals(to: patch, in: layout) }
        if life == generation, wasOnServer, patch.seq != nil, remote.isElsewhere {
            return putAnew(patch, device: device, in: layout)
        }
        if isAbove(life, at: patch.seq) {
            remote.hear(life: life)
            return nil
        }
        let isInOrder = (patch.seq ?? .max) >= remote.seq
        // `remote.seq` may be from an answer that changed nothing, so the page's head counts as well.
        let isLater = !isRestored && patch.seq.map { max($0, head ?? $0) >= remote.seq } ?? false
        if isForgotten(in: life, at: patch.seq) {
            if isPending { return moveUnsent(to: life, patch, device: device, in: layout) }
            generation = 0
            remote.lose()
        }
        remote.hear(seq: patch.seq)
        let isFirst = remote.generation < life && life == generation
        if isFirst {
            remote.begin(life)
        }
        remote.hear(life: life)
        if life < generation { return News() }
        if survives(into: life, in: layout) { return rejoin(life, patch, device: device, in: layout) }
        if life > generation {
            if isDeletedLater(than: patch, device: device, in: layout) {
                generation = life + 1
                return News()
            }
            return begin(life, patch, in: layout)
        }
        if isLater, lacksConfirmedColumn(patch, in: layout) {
            return putAnew(patch, isLater: true, device: device, in: layout)
        }
        let news = mergeColumns(of: patch, isInOrder: isInOrder, isLater: isLater, device: device, in: layout)
        // This device created the same life, so the app's table has it.
        if isFirst { remote.appear() }
        endRestoring(in: layout)
        return news
    }

    /// Takes a deletion from a page. The entry of a missing row is forgotten when the row is gone.
    mutating func receive(_ tombstone: Tombstone, device: String, in layout: TableLayout) -> Rendering {
        let before = self
        hear(tombstone, device: device, in: layout)
        return rendering(of: News(unread: tombstone.unread), since: before, in: layout)
    }

    private mutating func hear(_ tombstone: Tombstone, device: String, in layout: TableLayout) {
        let isForgotten = isForgotten(in: tombstone.generation, at: tombstone.seq)
        remote.hear(seq: tombstone.seq)
        if isRestored, tombstone.generation == generation {
            if let told = tombstone.clock, isLaterEnd(than: told) { return }
            becomeClean()
        }
        confirmEnd(of: tombstone.generation, at: tombstone.clock)
        if isForgotten, isAlive {
            guard isPending else {
                remote.lose()
                return end(tombstone.generation, clock: tombstone.clock)
            }
            goOnForgotten(in: layout)
            confirmEnd(of: tombstone.generation, at: tombstone.clock)
        }
        if tombstone.generation > generation, !outlives(tombstone, device: device, in: layout) {
            end(tombstone.generation, clock: tombstone.clock)
        }
        if tombstone.isMissing, !isAlive, !isPending { generation = 0 }
    }

    /// Whether the device restores a later deletion that another device made and the server has lost. Two clocks from
    /// one device mean the same deletion, whose clock the server may have set back (M4).
    private func isLaterEnd(than told: WriteClock) -> Bool {
        local?.lostLife.map { $0 > told && $0.device != told.device } ?? false
    }

    /// Whether the user deleted the row after every write of its next life. With `editWins`, an earlier edit can only
    /// have revived the row from an earlier deletion.
    func isDeletedLater(than patch: RowPatch, device: String, in layout: TableLayout) -> Bool {
        guard layout.rules.editWins, isPending, !isAlive, let latest = patch.clocks?.latest,
            let deletion = deletionClock(device)
        else { return false }
        return deletion > latest
    }

    /// Moves unsent edits from a forgotten life to the server's present life.
    private mutating func moveUnsent(
        to life: Int, _ patch: RowPatch, device: String, in layout: TableLayout
    ) -> News {
        generation = life
        remote.begin(life)
        local?.forgetPushes()
        for column in layout.counters {
            counters[column.bit] = counters[column.bit]?.goingOn(with: patch.mine[column.name] ?? [:])
        }
        return putAnew(patch, device: device, in: layout)
    }

    /// Ends the row and its edits.
    mutating func end(_ life: Int, clock: WriteClock?) {
        generation = life
        remote.end(life, at: clock)
        counters = [:]
        becomeClean()
    }

    /// Enters a later life of the row, and keeps nothing of the old life.
    mutating func begin(_ life: Int, _ patch: RowPatch, in layout: TableLayout) -> News {
        generation = life
        remote.hear(life: life)
        remote.hear(patch, in: layout)
        becomeClean()
        return News(values: beginCounters(of: patch, in: layout), isWhole: true, unread: patch.unread)
    }

    /// Whether the server forgot the row, and got it back without a column that the row had before. A server that does
    /// not know a column's new name sends a former name.
    private func lacksConfirmedColumn(_ patch: RowPatch, in layout: TableLayout) -> Bool {
        layout.columns.contains { column in
            !column.isCounter && patch.values[column.name] == nil && remote.clock(of: column) != nil
                && !layout.rules.formerNames(ofColumn: column.name).contains { patch.values[$0] != nil }
        }
    }

    /// Puts the full row over an earlier life, or over a state that the server lost.
    ///
    /// - Parameter isLater: Whether the row includes everything that this device sent and the server answered.
    private mutating func putAnew(
        _ patch: RowPatch, isLater: Bool = false, device: String, in layout: TableLayout
    ) -> News {
        let former = remote
        var news = News(values: patch.values, isWhole: true, unread: patch.unread)
        remote.hear(seq: patch.seq)
        remote.hear(life: generation)
        remote.hear(patch, in: layout)
        for column in layout.columns {
            let isDirty = dirty & column.mask != 0
            if column.isCounter {
                news.values[column.name] = takeCounter(column, from: patch, seq: patch.seq, isDirty: isDirty)
            } else if !isLater, let later = former.clock(of: column, laterThan: patch) {
                news.later |= column.mask
                remote.hear(column, at: later)
            } else if isDirty {
                cover(column, patch.values[column.name] ?? .null, since: former, device: device)
            }
        }
        endRestoring(in: layout)
        return news
    }

    /// Takes the columns of a patch in the row's present life.
    ///
    /// - Parameter isLater: Whether the patch is the row as of the latest known transaction. An older clock is then not
    ///   an echo: the server forgot the row and got it back from a device that knew less. Always false for an answer,
    ///   which has only some columns.
    mutating func mergeColumns(
        of patch: RowPatch, isInOrder: Bool, isLater: Bool, device: String, in layout: TableLayout
    ) -> News {
        var news = News(unread: patch.unread)
        // A page omits counters that no device has changed.
        for column in layout.counters where patch.seq != nil || patch.values[column.name] != nil {
            let isDirty = dirty & column.mask != 0
            news.values.append(column.name, takeCounter(column, from: patch, seq: patch.seq, isDirty: isDirty))
        }
        for (name, value) in patch.values {
            guard let column = layout[column: name], !column.isCounter else { continue }
            let clock = patch.clocks?[name]
            let isAnswer = patch.seq == nil
            guard clock.map({ isNews($0, of: column, isLater: isLater, isAnswer: isAnswer) }) ?? isInOrder else {
                continue
            }
            remote.hear(column, at: clock)
            if dirty & column.mask != 0 {
                local?.cover(column, column.literal(value))
                noteCovered(column, device: device)
            } else {
                news.values.append(name, value)
            }
        }
        return news
    }

    /// Notes the server's value of an unsent column. If its clock has changed, the value counts as unread.
    mutating func cover(_ column: TableLayout.Column, _ server: JSON, since former: RemoteRow, device: String) {
        local?.cover(column, column.literal(server))
        if remote.clock(of: column) != former.clock(of: column) { noteCovered(column, device: device) }
    }

    /// - Parameter isAnswer: Whether to accept a value under a known clock. In a page, such a value is nearly always an
    ///   echo. But if a server that went back merges two rows of one transaction, its answer has the other row's value
    ///   under the same clock.
    private func isNews(_ clock: WriteClock, of column: TableLayout.Column, isLater: Bool, isAnswer: Bool) -> Bool {
        remote.clock(of: column).map { clock > $0 || (isLater && clock < $0) || (isAnswer && clock == $0) } ?? true
    }
}

extension RemoteRow {
    /// The clock of a value that the server accepted from this device after reading the row. Nil if the received row
    /// has the value.
    fileprivate func clock(of column: TableLayout.Column, laterThan patch: RowPatch) -> WriteClock? {
        guard let clock = clock(of: column) else { return nil }
        if patch.values[column.name] == nil { return clock }
        return patch.clocks?[column.name].flatMap { clock > $0 ? clock : nil }
    }
}
