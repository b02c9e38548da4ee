// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The changes to one row that the server has not accepted yet: an entry of `optimist_edit`. It never holds an unsent
/// value.
///
/// Clocks, base values and a lost life belong to unsent columns only. `sent` may include clean columns until the server
/// answers, and `unread` survives the user's deletion, which reports the values that the user had read. Only the app's
/// triggers and the functions below change an edit.
struct LocalEdit: Equatable, Sendable {
    /// The stamp of the transaction that made the row unsent, or of the first transaction in its group (S2).
    private(set) var group: Stamp
    /// Orders a group's rows by when they became unsent. Greater than every earlier place, and never less than the
    /// clock.
    private(set) var place: Int64 = 0
    /// The stamp of the life, and of each dirty column that ``clocks`` omits.
    private(set) var stamp: Stamp
    private(set) var clocks: [String: EditClock] = [:]
    /// The clock of a life that the server had and lost. The device then sends the full row.
    private(set) var lostLife: WriteClock?
    /// Mask of the unsent columns. Bit 0 is the row's life.
    private(set) var dirty: Int64 = 0
    /// Mask of sent and unanswered columns. The server may have them, or may have had and lost them.
    private(set) var sent: Int64 = 0
    /// Mask of the columns that changed on the server after the edit began.
    private(set) var unread: Int64 = 0
    /// The server's values of dirty columns, as SQL literals. Kept only for a life that the server knows, or had and
    /// lost.
    private(set) var base: [String: String] = [:]
    /// Not sent before this time, in milliseconds since 1970.
    private(set) var due: Int64?
    /// As `Type:id`.
    private(set) var blocked: String?
    /// How often the server has postponed the row.
    private(set) var retries = 0

    func clock(of column: String) -> EditClock { clocks[column] ?? .own(stamp) }

    var lifeClock: EditClock { lostLife.map(EditClock.original) ?? .own(stamp) }
}

// MARK: - Sending and answers

extension LocalEdit {
    mutating func answer(_ mask: Int64) { sent &= ~mask }

    /// Columns that an earlier push may have delivered still count as sent.
    mutating func takeBack(_ push: SentRow) { sent = (sent & ~push.mask) | push.sentBefore }

    /// The server may have the life, whatever it answers.
    mutating func keepLifeSent() { sent |= TableLayout.lifeMask }

    mutating func forgetPushes() { sent = 0 }

    /// - Parameter due: Milliseconds since 1970.
    mutating func wait(until due: Int64) { self.due = due }

    /// - Parameter row: `Type:id`. Nil if the row does not have a wire id.
    mutating func wait(until due: Int64, for row: String?) {
        wait(until: due)
        blocked = row
    }

    mutating func countRetry() { retries += 1 }

    mutating func stopWaiting() {
        due = nil
        blocked = nil
    }
}

// MARK: - The server's values under the edit

extension LocalEdit {
    /// Notes the server's value of an unsent column, as an SQL literal.
    mutating func cover(_ column: TableLayout.Column, _ literal: String) { base[column.name] = literal }

    mutating func noteUnread(_ mask: Int64) { unread |= mask }

    mutating func noteRead(_ mask: Int64) { unread &= ~mask }

    mutating func stamp(_ column: TableLayout.Column, _ stamp: Stamp) { clocks[column.name] = .own(stamp) }
}

// MARK: - Dropping

extension LocalEdit {
    mutating func clear(_ mask: Int64, in layout: TableLayout) {
        dirty &= ~mask
        unread &= ~mask
        for column in layout.columns(in: mask) {
            base[column.name] = nil
            clocks[column.name] = nil
        }
        if mask & TableLayout.lifeMask != 0 { lostLife = nil }
    }

    mutating func end() {
        dirty = TableLayout.lifeMask
        clocks = [:]
        lostLife = nil
        sent = 0
        base = [:]
        stopWaiting()
    }
}

// MARK: - Other lives, and values that the server lost

extension LocalEdit {
    /// Marks every column as unsent, because the server does not know this life.
    mutating func becomeWhole(in layout: TableLayout) {
        dirty = layout.fullMask
        sent = 0
        base = [:]
    }

    mutating func add(_ mask: Int64) { dirty |= mask }

    /// An empty edit, to continue this edit in another life.
    var continued: LocalEdit { LocalEdit(group: group, place: place, stamp: stamp) }

    mutating func `continue`(_ column: TableLayout.Column, of former: LocalEdit) {
        dirty |= column.mask
        sent |= former.sent & column.mask
        clocks[column.name] = former.clocks[column.name]
        if !column.isCounter { unread |= former.unread & column.mask }
    }

    /// - Parameter clock: The clock of the lost life. Nil if the user's later deletion is sent instead.
    mutating func restoreLife(at clock: WriteClock?) {
        if let clock { lostLife = clock }
        dirty |= TableLayout.lifeMask
        sent |= TableLayout.lifeMask
        stopWaiting()
    }

    mutating func restore(_ column: TableLayout.Column, at clock: WriteClock) {
        clocks[column.name] = .original(clock)
        dirty |= column.mask
        sent |= column.mask
    }

    mutating func stamp(_ column: TableLayout.Column, as clock: WriteClock?) {
        clocks[column.name] = clock.map(EditClock.original)
    }

    /// Replaces stamps from a clock that was wrong.
    mutating func renew(_ stamps: [Stamp: Stamp], place: Int64) {
        self.place = place
        group = stamps[group] ?? group
        stamp = stamps[stamp] ?? stamp
        clocks = clocks.mapValues { clock in clock.ownStamp.map { .own(stamps[$0] ?? $0) } ?? clock }
    }
}
