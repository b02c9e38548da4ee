// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Corrects clocks that the server gave or accepted while its own clock was wrong.
///
/// When the server's clock is right again, a clock from the future would win against every honest edit until its time
/// arrives. The next operation on the row therefore sets such a clock back to just before that operation.
///
/// > Source: Documentation/Promises.md, M4.
extension MergeRow {
    /// Sets back every clock that is far ahead of the server's time. `memory` records each clock and its replacement,
    /// so that the server recognises a repeated write, and still treats that write as earlier.
    ///
    /// - Parameter incoming: The version that is merged into the row next. Its clocks are not far ahead.
    mutating func setBack(before incoming: MergeRow, _ memory: inout RowMemory, _ clock: ServerClock) {
        guard hasClockAhead(of: clock), let first = incoming.firstStamp else { return }
        let moment = Stamp(rawValue: max(0, min(first, Stamp(milliseconds: clock.milliseconds)).rawValue - 1))
        for (column, cell) in cells where clock.isAhead(cell.clock) {
            cells[column]?.clock = memory.setBack(cell.clock, to: moment, column, giver: cell.clock.device)
        }
        for (column, totals) in counters {
            for (origin, total) in totals where clock.isAhead(total.clock) {
                counters[column]?[origin]?.clock = memory.setBack(
                    total.clock, to: moment, column, giver: "\(total.clock.device)/\(origin)")
            }
        }
        if let ahead = deletion, clock.isAhead(ahead) {
            deletion = memory.setBack(ahead, to: moment, "@gen", giver: ahead.device)
        }
    }

    private func hasClockAhead(of clock: ServerClock) -> Bool {
        cells.values.contains { clock.isAhead($0.clock) }
            || counters.values.contains { $0.values.contains { clock.isAhead($0.clock) } }
            || deletion.map(clock.isAhead) == true
    }

    private var firstStamp: Stamp? {
        let counted = counters.values.lazy.flatMap(\.values).map(\.clock.stamp)
        return [cells.values.lazy.map(\.clock.stamp).min(), counted.min(), deletion?.stamp].compactMap(\.self).min()
    }
}

extension RowMemory {
    fileprivate mutating func setBack(
        _ ahead: WriteClock, to moment: Stamp, _ column: String, giver: String
    ) -> WriteClock {
        let stamp = WriteClock(stamp: moment, device: ahead.device)
        if replaced[column]?[giver].map({ $0.given < ahead }) ?? true {
            replaced[column, default: [:]][giver] = ReplacedClock(given: ahead, stamp: stamp)
        }
        return stamp
    }
}
