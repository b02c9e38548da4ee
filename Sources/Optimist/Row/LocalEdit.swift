// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The changes to one row that the server has not accepted yet: an entry of `optimist_edit`. It never holds an unsent
/// value.
///
/// The triggers write it while the app writes. An answer clears exactly what was sent; a refusal or a discard drops it.
struct LocalEdit: Equatable, Sendable {
    /// The stamp of the transaction that made the row unsent, or of the first transaction with which that one is
    /// grouped (S2).
    var group: Stamp
    /// The order in which the rows of a group became unsent. A place is greater than all earlier ones, and never less
    /// than the clock.
    var place: Int64 = 0
    /// The stamp of the row's life, and of every dirty column that is not among ``clocks``.
    var stamp: Stamp
    /// The clocks of the other dirty columns. If the server has lost the row, also the clock of the row's life, under
    /// ``life``.
    var clocks: [String: EditClock] = [:]
    /// Mask of the unsent columns. Bit 0 is the row's life.
    var dirty: Int64 = 0
    /// Mask of the columns that were sent and that the server has not answered yet. The server may have them, or may
    /// have had and lost them.
    var sent: Int64 = 0
    /// Mask of the columns whose values on the server have changed since the edit covers them, so that the user has not
    /// read them.
    var unread: Int64 = 0
    /// The server's values of dirty columns, as SQL literals. Kept only while the server knows this life, or if it has
    /// lost it.
    var base: [String: String] = [:]
    /// The time before which the row is not sent, in milliseconds since 1970.
    var due: Int64?
    /// The row that this one waits for, as `Type:id`.
    var blocked: String?
    /// How often the server has put the row off.
    var retries = 0

    /// The key of the row's life in ``clocks``. No column has this name.
    static let life = "@life"

    /// Whether the server had this life of the row and has lost it, so that the row is sent whole.
    var isRestored: Bool { clocks[Self.life] != nil }

    /// The clock of an unsent column.
    func clock(of column: String) -> EditClock { clocks[column] ?? .own(stamp) }

    /// Forgets that some columns are unsent.
    mutating func clear(_ mask: Int64, in layout: TableLayout) {
        dirty &= ~mask
        unread &= ~mask
        for column in layout.columns(in: mask) {
            base[column.name] = nil
            clocks[column.name] = nil
        }
        if mask & TableLayout.lifeMask != 0 { clocks[Self.life] = nil }
    }

    /// Lets the row be sent at once.
    mutating func stopWaiting() {
        due = nil
        blocked = nil
    }
}
