// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Rows that move between scopes. A move is an edit of the column that decides about the row's space (P4).
extension RowEntry {
    /// Whether the user's unsent edit may move the row, although the server has it.
    func isMoved(by anchor: TableLayout.Column?) -> Bool {
        anchor.map { isAlive && dirty & $0.mask != 0 } ?? false
    }

    /// Whether a report of the row's move is later than the known life.
    func goesOn(to destination: MoveDestination) -> Bool {
        if isRestored { return true }
        return destination.generation > remote.generation && (isAlive || isPending)
    }

    /// The row continues in another scope, where its next life begins. Unsent edits and deletions follow it. An unsent
    /// move that is earlier than the server's ends.
    ///
    /// The values do not change until a page of the other scope has the row.
    ///
    /// - Parameter anchor: The column that decides about the row's space.
    mutating func rebase(
        to destination: MoveDestination, anchor: TableLayout.Column?, device: String, in layout: TableLayout
    ) -> Rendering {
        move(to: destination.scope, life: destination.generation, in: destination.seq)
        var rendering = Rendering()
        guard let anchor, isMoved(by: anchor), let clock = destination.clock,
            unsentClock(of: anchor.name).clock(device) < clock
        else {
            return rendering
        }
        rendering.lost = anchor.mask
        clear(anchor.mask, in: layout)
        return rendering
    }

    /// Puts a living row back where it was before a move that a restored server has lost. The later values are unsent.
    ///
    /// - Parameter life: The row's life there.
    mutating func goBack(to scope: Int64, life: Int, in layout: TableLayout) {
        restore(in: layout)
        generation = life
        remote.lose(after: 0)
        remote.hear(in: scope)
    }

    /// If the server made the move, puts the row in its next life first, so that the values settle there.
    ///
    /// - Returns: The sent row, in that life.
    mutating func following(_ sent: SentRow, _ verdict: RemotePush.Verdict) -> SentRow {
        guard sent.kind == .move, case .merged(_, let won) = verdict, let life = won.generation else { return sent }
        if remote.generation < life { move(to: sent.scope, life: life, in: nil) }
        var followed = sent
        followed.generation = life
        return followed
    }

    /// The user's deletion follows the row.
    private mutating func move(to scope: Int64, life: Int, in seq: Int64?) {
        generation = isAlive ? life : life + 1
        remote.move(to: scope, life: life, in: seq)
    }
}

extension RemoteRow {
    /// Forgets the row's transaction, because transactions of two scopes cannot be compared.
    ///
    /// - Parameter seq: The transaction in which the row left. Nil if unknown.
    mutating func move(to scope: Int64, life: Int, in seq: Int64?) {
        goBack(to: life)
        lose(after: 0)
        leave(for: scope, in: seq)
    }
}
