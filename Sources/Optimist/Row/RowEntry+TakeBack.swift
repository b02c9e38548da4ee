// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension RowEntry {
    /// Takes back all unsent changes of a row that is not itself at fault.
    ///
    /// - Parameters:
    ///   - values: The row in the app's table.
    ///   - current: The server's row, to restore a deleted row immediately.
    ///   - isLost: Whether to include a row that the server had and lost.
    /// - Returns: The unsent values, and the rendering that undoes them. Nil, with no change, if that is impossible.
    mutating func takeBack(
        _ values: JSONObject, current: RowPatch?, isLost: Bool = false, in layout: TableLayout
    ) -> (kind: SentRow.Kind, rendering: Rendering, mine: JSONObject)? {
        if isRestored, !isLost, edited(in: layout) == 0 { return nil }
        let before = self
        var taken = takeUnsent(values, current: current, isLost: isLost, in: layout)
        // The caller keeps the unsent values, or drops them at the user's request.
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
        // Only the edit kept the row alive after its deletion.
        if hasOutlivedItsEnd {
            end(remote.generation, clock: nil)
            return (.update, News(), mine)
        }
        return (.update, News(values: takeBackColumns(edited, in: layout)), mine)
    }

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

    /// Takes back the user's deletion without the server's row, which the device must receive again. A new life then
    /// follows the server's life. If the server also deleted the row, it remains deleted.
    mutating func takeBackDeletion() {
        if isKnownToServer { becomeClean() } else { giveUpUnsentLife() }
    }

    /// Returns to the server's life, which the app's table lacks.
    mutating func giveUpUnsentLife() {
        becomeClean()
        counters = [:]
        generation = remote.generation
        if isAlive { remote.withdraw() }
    }

    /// The user deletes a row that the app's table lacks.
    mutating func endUnseen(group: Stamp, stamp: Stamp) {
        generation += 1
        if remote.generation == generation { remote.end(generation, at: nil) }
        local = LocalEdit(group: group, place: stamp.rawValue, stamp: stamp, dirty: TableLayout.lifeMask)
    }

    /// Gives up a life that the server never had, because a deletion takes it.
    ///
    /// If the table had an earlier life from the server, the user's deletion of that life remains unsent. Otherwise the
    /// user has not deleted the server's life, which is parked here or is in a later page. If none of that life's
    /// values was confirmed, for example while they wait, its deletion is undone as well, without a loss.
    mutating func loseUnsentLife() {
        guard remote.isAlive, remote.presence != .absent else { return giveUpUnsentLife() }
        counters = [:]
        generation = remote.generation + 1
        local?.end()
    }

    /// The server received a life that counted as unsent here, and ended it. The life's writes become confirmed, so
    /// that the device can send them again if the server loses the deletion.
    mutating func confirmEndedLife(of before: RowEntry, device: String, until seq: Int64, in layout: TableLayout) {
        if before.isKnownToServer || before.isRestored { return }
        remote.accept(lifeAt: WriteClock(stamp: before.lifeStamp, device: device), until: seq)
        for column in layout.columns where !column.isCounter {
            remote.hear(column, at: before.unsentClock(of: column.name).clock(device))
        }
    }

    /// Restores the server's row, or the later end that a page has reported. A later version from a page waits, and is
    /// received afterwards.
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
