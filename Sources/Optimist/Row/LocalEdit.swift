// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The changes to one row that the server has not accepted yet: an entry of `optimist_edit`. It never holds an unsent
/// value.
///
/// Clocks, base values and a lost life belong to unsent columns only. Columns in `sent` may be clean again, until the server
/// answers. `unread` keeps its columns when the user deletes the row, because the deletion says what the user had read.
///
/// The triggers write it while the app writes. The engine changes it by the moves below only: it sends, hears an answer, drops
/// columns, follows the row into another life, and restores what the server has lost.
struct LocalEdit: Equatable, Sendable {
    /// The stamp of the transaction that made the row unsent, or of the first transaction with which that one is
    /// grouped (S2).
    private(set) var group: Stamp
    /// The order in which the rows of a group became unsent. A place is greater than all earlier ones, and never less
    /// than the clock.
    private(set) var place: Int64 = 0
    /// The stamp of the row's life, and of every dirty column that is not among ``clocks``.
    private(set) var stamp: Stamp
    /// The clocks of the other dirty columns.
    private(set) var clocks: [String: EditClock] = [:]
    /// The clock of the row's life, if the server had this life and has lost it. The row is then sent whole.
    private(set) var lostLife: WriteClock?
    /// Mask of the unsent columns. Bit 0 is the row's life.
    private(set) var dirty: Int64 = 0
    /// Mask of the columns that were sent and that the server has not answered yet. The server may have them, or may
    /// have had and lost them.
    private(set) var sent: Int64 = 0
    /// Mask of the columns whose values on the server have changed since the edit covers them, so that the user has not
    /// read them.
    private(set) var unread: Int64 = 0
    /// The server's values of dirty columns, as SQL literals. Kept only while the server knows this life, or if it has
    /// lost it.
    private(set) var base: [String: String] = [:]
    /// The time before which the row is not sent, in milliseconds since 1970.
    private(set) var due: Int64?
    /// The row that this one waits for, as `Type:id`.
    private(set) var blocked: String?
    /// How often the server has put the row off.
    private(set) var retries = 0

    /// The clock of an unsent column.
    func clock(of column: String) -> EditClock { clocks[column] ?? .own(stamp) }

    /// The clock of the row's life.
    var lifeClock: EditClock { lostLife.map(EditClock.original) ?? .own(stamp) }
}

// MARK: - Sending and answers

extension LocalEdit {
    /// The server has answered what was sent of some columns.
    mutating func answer(_ mask: Int64) { sent &= ~mask }

    /// The server has not taken a push. What an earlier push may have brought to it still counts as sent.
    mutating func takeBack(_ push: SentRow) { sent = (sent & ~push.mask) | push.sentBefore }

    /// The server may have the row's life, whatever it answers.
    mutating func keepLifeSent() { sent |= TableLayout.lifeMask }

    /// Answers to earlier pushes say nothing of the edit.
    mutating func forgetPushes() { sent = 0 }

    /// Makes the row wait.
    ///
    /// - Parameter due: Until when, in milliseconds since 1970.
    mutating func wait(until due: Int64) { self.due = due }

    /// Makes the row wait for another one, named as `Type:id`. Nil: the other one has no name on the server.
    mutating func wait(until due: Int64, for row: String?) {
        wait(until: due)
        blocked = row
    }

    /// Notes that the row was put off once more, so that the next pause is longer.
    mutating func countRetry() { retries += 1 }

    /// Lets the row be sent at once.
    mutating func stopWaiting() {
        due = nil
        blocked = nil
    }
}

// MARK: - The server's values below

extension LocalEdit {
    /// The server has another value of an unsent column.
    ///
    /// - Parameter literal: The value.
    mutating func cover(_ column: TableLayout.Column, _ literal: String) { base[column.name] = literal }

    /// The user has not read the server's value of a column, because the edit covers it.
    mutating func noteUnread(_ mask: Int64) { unread |= mask }

    /// The user has written the server's value of a column, and so has read it.
    mutating func noteRead(_ mask: Int64) { unread &= ~mask }

    /// Gives an unsent column another stamp.
    mutating func stamp(_ column: TableLayout.Column, _ stamp: Stamp) { clocks[column.name] = .own(stamp) }
}

// MARK: - Dropping

extension LocalEdit {
    /// Forgets that some columns are unsent.
    mutating func clear(_ mask: Int64, in layout: TableLayout) {
        dirty &= ~mask
        unread &= ~mask
        for column in layout.columns(in: mask) {
            base[column.name] = nil
            clocks[column.name] = nil
        }
        if mask & TableLayout.lifeMask != 0 { lostLife = nil }
    }

    /// Drops everything but the end of a life.
    mutating func end() {
        dirty = TableLayout.lifeMask
        clocks = [:]
        lostLife = nil
        sent = 0
        base = [:]
        stopWaiting()
    }
}

// MARK: - Another life, and what the server has lost

extension LocalEdit {
    /// Marks the whole row as unsent, because the server has nothing of its life.
    mutating func becomeWhole(in layout: TableLayout) {
        dirty = layout.fullMask
        sent = 0
        base = [:]
    }

    /// Marks more columns as unsent.
    mutating func add(_ mask: Int64) { dirty |= mask }

    /// An edit without columns, to continue this one in another life.
    var continued: LocalEdit { LocalEdit(group: group, place: place, stamp: stamp) }

    /// Continues an edit of a column of a former life.
    mutating func `continue`(_ column: TableLayout.Column, of former: LocalEdit) {
        dirty |= column.mask
        sent |= former.sent & column.mask
        clocks[column.name] = former.clocks[column.name]
        if !column.isCounter { unread |= former.unread & column.mask }
    }

    /// Marks the row's life as lost by the server.
    ///
    /// - Parameter clock: The clock of the life. Nil: the user has edited it since, and sends that.
    mutating func restoreLife(at clock: WriteClock?) {
        if let clock { lostLife = clock }
        dirty |= TableLayout.lifeMask
        sent |= TableLayout.lifeMask
        stopWaiting()
    }

    /// Marks a column as lost by the server, which had a value with a clock.
    mutating func restore(_ column: TableLayout.Column, at clock: WriteClock) {
        clocks[column.name] = .original(clock)
        dirty |= column.mask
        sent |= column.mask
    }

    /// Notes when another device wrote an unsent column.
    mutating func stamp(_ column: TableLayout.Column, as clock: WriteClock?) {
        clocks[column.name] = clock.map(EditClock.original)
    }

    /// Gives the edit a new place, and new stamps for those that a wrong clock has given.
    mutating func renew(_ stamps: [Stamp: Stamp], place: Int64) {
        self.place = place
        group = stamps[group] ?? group
        stamp = stamps[stamp] ?? stamp
        clocks = clocks.mapValues { clock in clock.ownStamp.map { .own(stamps[$0] ?? $0) } ?? clock }
    }
}
