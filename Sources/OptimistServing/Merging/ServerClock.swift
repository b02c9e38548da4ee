// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The server's own clock during one evaluation. It stamps writes that have no clock, and replaces clocks that are far ahead.
struct ServerClock: Sendable {
    /// The device id that the server stamps with.
    static let device = "server"

    private(set) var hybrid: HybridClock
    /// The time of day in milliseconds since 1970.
    let milliseconds: Int64
    /// The day by which deletions and push numbers are forgotten, as ``Expiry`` counts days.
    let day: Int

    /// - Parameter day: Nil: the day of the time of day.
    init(hybrid: HybridClock = HybridClock(), milliseconds: Int64, day: Int? = nil) {
        self.hybrid = hybrid
        self.milliseconds = milliseconds
        self.day = day ?? Int(milliseconds / 86_400_000)
        // The time of day was wrong when that stamp was given. Stamps of the present are not to follow it.
        if isAhead(WriteClock(stamp: hybrid.last, device: Self.device)) { self.hybrid = HybridClock() }
    }

    /// Returns the server's next stamp, under its own name or a device's.
    mutating func tick(device: String = Self.device) -> WriteClock {
        WriteClock(stamp: hybrid.tick(milliseconds: milliseconds), device: device)
    }

    /// Makes the next tick later than every clock in a row, so that a write stamped now is the latest. Clocks that are far
    /// ahead do not count: the write sets them back.
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

    /// Gives the stamps of this evaluation to the clock that outlives it.
    func hand(to clock: inout HybridClock) {
        // That clock may have seen a wrong time of day meanwhile.
        if isAhead(WriteClock(stamp: clock.last, device: Self.device)) {
            clock = hybrid
        } else {
            clock.witness(hybrid.last)
        }
    }

    /// Whether a clock is so far ahead that it would win for longer than is fair.
    ///
    /// > Source: Documentation/Promises.md, M4.
    func isAhead(_ clock: WriteClock) -> Bool {
        clock.stamp.milliseconds > milliseconds + RowSync.Limit.clockSkewMilliseconds
    }
}
