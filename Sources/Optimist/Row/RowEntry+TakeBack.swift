// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension RowEntry {
    /// Takes back everything unsent of a row that is not itself at fault.
    ///
    /// - Parameters:
    ///   - values: The row as it is in the app's table.
    ///   - current: The row as the server has it, which is needed to bring a deleted row back at once.
    ///   - isLost: Whether to take back even a row that the server had and has lost.
    /// - Returns: The unsent part of the row, and what undoes it. Nil: it cannot be undone, and nothing has changed.
    mutating func takeBack(
        _ values: JSONObject, current: RowPatch?, isLost: Bool = false, in layout: TableLayout
    ) -> (kind: SentRow.Kind, rendering: Rendering, mine: JSONObject)? {
        if isRestored, !isLost, edited(in: layout) == 0 { return nil }
        let before = self
        var taken = takeUnsent(values, current: current, isLost: isLost, in: layout)
        // The caller keeps what was unsent, or forgets it at the user's wish.
        taken.news.settled = layout.fullMask
        return (taken.kind, rendering(of: taken.news, since: before, in: layout), taken.mine)
    }

    private mutating func takeUnsent(
        _ values: JSONObject, current: RowPatch?, isLost: Bool, in layout: TableLayout
    ) -> (kind: SentRow.Kind, news: News, mine: JSONObject) {
        if !isAlive {
            if let current { return (.delete, bringBack(current, in: layout), [:]) }
            takeBackDeletion()
            return (.delete, News(), [:])
        }
        guard isRestored ? !isLost : isKnownToServer else {
            let mine = kept(values, in: layout)
            if let current { return (.create, bringBack(current, in: layout), mine) }
            if isRestored { remote.lose() }
            giveUpUnsentLife()
            return (.create, News(), mine)
        }
        let edited = isRestored ? edited(in: layout) : dirty
        let mine = kept(
            JSONObject(layout.columns(in: edited).map { ($0.name, values[$0.name] ?? .null) }), in: layout)
        // The row has outlived its deletion only because of the edit.
        if hasOutlivedItsEnd {
            end(remote.generation, clock: nil)
            return (.update, News(), mine)
        }
        return (.update, News(values: takeBackColumns(edited, in: layout)), mine)
    }

    /// Takes back the unsent edits of some columns.
    mutating func takeBack(_ mask: Int64, in layout: TableLayout) -> Rendering {
        let before = self
        return rendering(of: News(values: takeBackColumns(mask, in: layout)), since: before, in: layout)
    }

    /// - Returns: The server's values of these columns.
    private mutating func takeBackColumns(_ mask: Int64, in layout: TableLayout) -> JSONObject {
        let restored = layout.columns(in: mask).map { ($0.name, baseValue(of: $0) ?? .null) }
        takeBackCounters(in: mask)
        drop(mask, in: layout)
        return JSONObject(restored)
    }

    /// Takes back the user's deletion without knowing the server's row. Nothing of the row is here, and the device must
    /// receive it again. The entry still notes the life in which the server had the row, and a life that the user
    /// begins follows that one. If the server has deleted the row too, it stays deleted.
    mutating func takeBackDeletion() {
        if isKnownToServer { becomeClean() } else { giveUpUnsentLife() }
    }

    /// Returns to the life in which the server had the row. Nothing of that life is here anymore, so everything that a
    /// page brings of it is new.
    mutating func giveUpUnsentLife() {
        becomeClean()
        counters = [:]
        generation = remote.generation
        if isAlive { remote.withdraw() }
    }

    /// Notes that the user has deleted a row that is not here.
    mutating func endUnseen(group: Stamp, stamp: Stamp) {
        generation += 1
        if remote.generation == generation { remote.end(generation, at: nil) }
        local = LocalEdit(group: group, place: stamp.rawValue, stamp: stamp, dirty: TableLayout.lifeMask)
    }

    /// Gives up a life that the server never had, because a deletion takes it. If this life followed one that the
    /// server has, the entry keeps the user's deletion of that earlier life, unsent. If the earlier life was never
    /// here, the user has not deleted anything: the row waits, or comes with a page. Sometimes no value is confirmed of
    /// an earlier life that was here, for example while its values wait. Its deletion is then undone as well, and
    /// nothing is lost.
    mutating func loseUnsentLife() {
        guard remote.isAlive, remote.presence != .absent else { return giveUpUnsentLife() }
        counters = [:]
        generation = remote.generation + 1
        local?.end()
    }

    /// Notes that the server had a life that was unsent here, and has ended it. Everything that was written in that
    /// life counts as confirmed. If the server loses the end, the device sends all of it again.
    mutating func confirmEndedLife(of before: RowEntry, device: String, until seq: Int64, in layout: TableLayout) {
        if before.isKnownToServer || before.isRestored { return }
        remote.accept(lifeAt: WriteClock(stamp: before.lifeStamp, device: device), until: seq)
        for column in layout.columns where !column.isCounter {
            remote.hear(column, at: before.unsentClock(of: column.name).clock(device))
        }
    }

    /// Makes the row the server's again. If a page has brought a later version, that version waits and is received
    /// afterwards. If a page has brought the row's end, the row ends.
    mutating func bringBack(_ current: RowPatch, in layout: TableLayout) -> News {
        let isOver =
            remote.generation % 2 == 0 && current.generation ?? 1 < remote.generation && current.seq ?? 0 < remote.seq
        becomeClean()
        if isOver {
            counters = [:]
            generation = remote.generation
            return News()
        }
        generation = current.generation ?? 1
        remote.hear(seq: current.seq)
        remote.goBack(to: generation)
        remote.hear(current, in: layout)
        return News(values: beginCounters(of: current, in: layout), isWhole: true)
    }
}
