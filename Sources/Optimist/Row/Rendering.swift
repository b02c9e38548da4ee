// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What an event does to a row in the app's table, and which values the user loses.
struct Rendering: Equatable, Sendable {
    var placement = Placement.shown
    var change = RowChange.none
    /// Mask of the columns that a put row keeps: unsent ones, and values accepted after the server read the row.
    var kept: Int64 = 0
    /// Mask of the values that the user loses. The journal keeps them first.
    var lost: Int64 = 0
    var endsLife = false
}

extension Rendering {
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
    /// Decides the change of the app's table after an event.
    ///
    /// - A row is deleted if its life is over, or if it is clean and enters another life without values of that life.
    /// - A full row is put, except for unsent columns.
    /// - Single values are set.
    ///
    /// The user loses an unsent edit that ends unsettled, and a value that another device replaced or deleted without
    /// reading it.
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
