// This source file is part of the Optimist open source project, under the MIT licence.

/// A row that refers to a deleted row, and what the deletion means for it (R2). Pure.
///
/// The server has applied the actions of its foreign keys to its own rows, and reports each consequence. So this type
/// decides only what the server does not know yet, or has not told yet.
struct RowBelow {
    let entry: RowEntry
    let layout: TableLayout
    /// The column that refers to the deleted row.
    let column: TableLayout.Column
    let onDelete: Reference.Action

    /// Whether only an unsent edit makes the row refer to the deleted one. On the server it refers elsewhere.
    var isMoved: Bool { entry.wasOnServer && entry.isEdited(column) }

    /// Whether the deletion comes too soon for this row.
    ///
    /// - Parameters:
    ///   - seq: The server's transaction that deleted the row above. Nil: unknown.
    ///   - isPushUnanswered: Whether an answer or a page has still to tell what became of a push.
    ///   - mayMove: Whether a later page may bring the row above again, or move this one.
    func holdsBack(deletionAt seq: Int64?, isPushUnanswered: Bool, mayMove: Bool) -> Bool {
        // The server may have taken the reference after the deletion. The reference is then to the next life of the row
        // above.
        if isPushUnanswered, entry.isPending, entry.sent & column.mask != 0 { return true }
        guard entry.isKnownToServer, !isMoved else { return false }
        // The row was written after the deletion, so it refers to the next life too.
        if entry.remote.seq > seq ?? .max { return true }
        return onDelete == .cascade && mayMove
    }

    /// What the deletion does to a row.
    enum Fate: Equatable, Sendable {
        /// Nothing: SQLite refuses the deletion as long as the row is there.
        case stays
        /// It no longer refers to any row.
        case refersToNothing
        /// It refers again to the row that it refers to on the server.
        case returns
        /// It is deleted too. It had outlived its own deletion only because of the edit that it now loses.
        case ends
        /// It is deleted with the row above.
        case goes
    }

    var fate: Fate {
        switch onDelete {
        case .restrict: .stays
        case .setNull: .refersToNothing
        case .cascade where !isMoved: .goes
        case .cascade: entry.isOver(without: column, in: layout) ? .ends : .returns
        }
    }
}
