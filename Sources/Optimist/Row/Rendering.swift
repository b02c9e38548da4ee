// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What becomes of a row in the app's table by an event, and what the user loses by that.
struct Rendering: Equatable, Sendable {
    /// Whether the app's table shows the server's row, merged with unsent edits.
    var placement = Placement.shown
    var change = RowChange.none
    /// Mask of the columns that stay as they are when the whole row is put again: the user's unsent ones, and those
    /// that the server has accepted later than the received row.
    var kept: Int64 = 0
    /// Mask of the columns whose values the user loses. The values go to the journal before the change is made.
    var lost: Int64 = 0
    /// Whether the life that the table showed has ended.
    var endsLife = false
}

extension Rendering {
    /// Mask of the columns that have another value in the app's table afterwards, or none.
    fileprivate func replaced(in layout: TableLayout) -> Int64 {
        switch change {
        case .none: 0
        case .set(let values): layout.mask(of: values)
        case .put: ~kept
        case .delete: ~0
        }
    }
}

extension RowEntry {
    /// What the app's table must show after an event.
    ///
    /// - A row whose life is over goes. A clean row in another life goes too, if the event brought no values of that life.
    /// - A whole row is put. Unsent columns stay as they are.
    /// - Single values are set.
    ///
    /// The user loses an unsent edit that ends without having been settled, and a value that another device has replaced
    /// or ended without having read it.
    ///
    /// - Parameters:
    ///   - news: What the event said.
    ///   - before: The entry before the event.
    func rendering(of news: News, since before: RowEntry, in layout: TableLayout) -> Rendering {
        var rendering = Rendering()
        let isOver = !isAlive || (generation != before.generation && !isPending && !news.isWhole)
        if isOver {
            if before.isAlive { rendering.change = .delete }
        } else if news.isWhole {
            rendering.change = .put(news.values)
            rendering.kept = (news.later | dirty) & layout.plainMask
        } else if !news.values.isEmpty {
            rendering.change = .set(news.values)
        }
        if !before.isAlive { return rendering }
        rendering.endsLife = isOver || generation > before.generation
        rendering.lost = before.edited(in: layout) & ~dirty & ~news.settled
        if !news.unread.isEmpty {
            rendering.lost |= before.replaced(news.unread, in: layout) & rendering.replaced(in: layout)
        }
        return rendering
    }
}
