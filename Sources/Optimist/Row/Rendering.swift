// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What an event does to a row in the app's table, and which values the user loses.
struct Rendering: Equatable, Sendable {
    var placement = Placement.shown
    var change = RowChange.none
    /// Mask of the columns that keep their values when the full row is put: unsent ones, and those that the server
    /// accepted after the received row was made.
    var kept: Int64 = 0
    /// Mask of the columns whose values the user loses. The journal keeps these values before the change is made.
    var lost: Int64 = 0
    /// Whether the life that the table showed has ended.
    var endsLife = false
}

extension Rendering {
    /// Mask of the columns whose values change or disappear.
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
    /// Decides what the app's table must show after an event.
    ///
    /// - A row whose life is over is deleted, and so is a clean row that enters another life without any values of that
    ///   life.
    /// - A full row is put, except for unsent columns.
    /// - Single values are set.
    ///
    /// The user loses an unsent edit that ends unsettled, and a value that another device replaced or ended unread.
    ///
    /// - Parameters:
    ///   - news: The values that the event reported.
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
