// This source file is part of the Optimist open source project, under the MIT licence.

/// A row that refers to a deleted row, and the deletion's effect on it (R2). Pure.
///
/// The server applies its foreign keys to its own rows and reports each result. So this decides only about changes that
/// the server does not know or has not reported yet.
struct RowBelow {
    let entry: RowEntry
    let layout: TableLayout
    /// The reference to the deleted row.
    let column: TableLayout.Column
    let onDelete: Reference.Action

    /// Whether only an unsent edit makes the row refer to the deleted one.
    var isMoved: Bool { entry.wasOnServer && entry.isEdited(column) }

    /// Whether the deletion is too early for this row.
    ///
    /// - Parameters:
    ///   - seq: The deletion's server transaction. Nil if unknown.
    ///   - isPushUnanswered: Whether the outcome of a push is still unknown.
    ///   - mayMove: Whether a later page may recreate the row above, or move this row.
    func holdsBack(deletionAt seq: Int64?, isPushUnanswered: Bool, mayMove: Bool) -> Bool {
        // The server may have accepted the reference after the deletion, so that it refers to the next life of the row
        // above.
        if isPushUnanswered, entry.isPending, entry.sent & column.mask != 0 { return true }
        guard entry.isKnownToServer, !isMoved else { return false }
        // The server wrote this row after the deletion, so this row also refers to the next life.
        if entry.remote.seq > seq ?? .max { return true }
        return onDelete == .cascade && mayMove
    }

    enum Fate: Equatable, Sendable {
        /// SQLite refuses the deletion while this row exists.
        case stays
        case refersToNothing
        /// The reference returns to the server's value.
        case returns
        /// The row is deleted, because only the lost edit had let it outlive its own deletion.
        case ends
        /// The row is deleted with the row above.
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
