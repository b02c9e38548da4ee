// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The server's clock during one evaluation. It stamps writes without clocks, and replaces clocks that are far ahead.
struct ServerClock: Sendable {
    static let device = "server"

    private(set) var hybrid: HybridClock
    let milliseconds: Int64
    /// Today, for the expiry of deletions and push numbers, counted as in ``Expiry``.
    let day: Int
    /// The device in the clocks of writes without clocks. The server's own values are always its ``device``'s.
    let writer: String

    /// - Parameters:
    ///   - day: Default: the day of `milliseconds`.
    ///   - writer: Default: the server's ``device``.
    init(
        hybrid: HybridClock = HybridClock(), milliseconds: Int64, day: Int? = nil, writer: String = Self.device
    ) {
        self.hybrid = hybrid
        self.writer = writer
        self.milliseconds = milliseconds
        self.day = day ?? Int(milliseconds / 86_400_000)
        // If the last stamp is ahead, the time of day was wrong when that stamp was given. New stamps must not follow
        // it.
        if isAhead(WriteClock(stamp: hybrid.last, device: Self.device)) { self.hybrid = HybridClock() }
    }

    mutating func tick(device: String = Self.device) -> WriteClock {
        WriteClock(stamp: hybrid.tick(milliseconds: milliseconds), device: device)
    }

    /// Makes the next tick later than every clock in a row, so that a write stamped now is the latest. Ignores clocks
    /// that are far ahead, because the write sets them back.
    mutating func witness(_ row: MergeRow) {
        for cell in row.cells.values { witness(cell.clock) }
        for totals in row.counters.values {
            for total in totals.values { witness(total.clock) }
        }
        if let deletion = row.deletion { witness(deletion) }
    }

    private mutating func witness(_ clock: WriteClock) {
        if !isAhead(clock) { hybrid.witness(clock.stamp) }
    }

    /// Passes the stamps of this evaluation on to the clock that outlives it.
    func hand(to clock: inout HybridClock) {
        // Another evaluation may have seen a wrong time of day.
        if isAhead(WriteClock(stamp: clock.last, device: Self.device)) {
            clock = hybrid
        } else {
            clock.witness(hybrid.last)
        }
    }

    /// Whether a clock is so far ahead that it would win for unfairly long.
    ///
    /// > Source: Documentation/Promises.md, M4.
    func isAhead(_ clock: WriteClock) -> Bool {
        clock.stamp.milliseconds > milliseconds + RowSync.Limit.clockSkewMilliseconds
    }
}
