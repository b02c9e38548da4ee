// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Assigns clocks to the values of one operation: the sender's clock, or the server's if the sender's is missing or
/// runs ahead.
///
/// The server remembers a clock that ran ahead, together with its replacement. A repeated write therefore gets the same
/// stamp, even after other writes, and changes nothing (S3).
struct Stamping {
    private let row: MergeRow
    private let isSameLife: Bool
    /// Whether a clock equal to the stored value's clock counts as the sender's own.
    private let believesEqualClocks: Bool
    private let pusher: String?
    private(set) var memory: RowMemory
    private(set) var clock: ServerClock
    private(set) var adjusted: Set<String> = []
    /// The server's tick for this operation. All values share it because they are one write.
    private var ownStamp: Stamp?

    init(
        row: MergeRow, isSameLife: Bool, memory: RowMemory, clock: ServerClock, believesEqualClocks: Bool = true,
        pusher: String? = nil
    ) {
        self.row = row
        self.isSameLife = isSameLife
        self.believesEqualClocks = believesEqualClocks
        self.pusher = pusher
        self.memory = memory
        self.clock = clock
    }

    /// The clock of a column's value. Nil: the server already has the same value.
    mutating func stamp(_ value: JSON, _ column: String, _ given: WriteClock?, isStampedBySender: Bool) -> WriteClock? {
        if let given, isSendersOwn(given, value, column) {
            return accept(given, column, giver: given.device, over: cell(column, besides: value))
        }
        if isStampedBySender { adjusted.insert(column) }
        if isSameLife, row.cells[column]?.value ?? .null == value { return nil }
        return WriteClock(stamp: tick(), device: clock.writer)
    }

    /// Whether a clock belongs to this write. If the server has a different value under the same clock, the clock
    /// belongs to that value, and the client only sends it back.
    private func isSendersOwn(_ given: WriteClock, _ value: JSON, _ column: String) -> Bool {
        if believesEqualClocks || !isSameLife { return true }
        return row.cells[column].map { $0.clock != given || $0.value == value } ?? true
    }

    private func cell(_ column: String, besides value: JSON) -> WriteClock? {
        guard isSameLife, let cell = row.cells[column], cell.value != value else { return nil }
        return cell.clock
    }

    mutating func stamp(deletion given: WriteClock?) -> WriteClock {
        given.map { accept($0, "@gen", giver: $0.device) } ?? WriteClock(stamp: tick(), device: clock.writer)
    }

    mutating func totals(_ patch: CounterPatch, _ column: String, _ common: WriteClock?) -> [String: CounterTotal] {
        switch patch {
        case .add(let amount):
            let writer = clock.writer
            let former = isSameLife ? row.counters[column]?[writer]?.total ?? 0 : 0
            let (sum, overflows) = former.addingReportingOverflow(amount)
            return [
                writer: CounterTotal(overflows ? former : sum, WriteClock(stamp: tick(), device: writer))
            ]
        case .totals(let totals):
            var stamped: [String: CounterTotal] = [:]
            for total in totals {
                guard let given = total.clock ?? common else { continue }
                let origin = total.origin ?? given.device
                let present = isSameLife ? row.counters[column]?[origin] : nil
                let clock = accept(
                    given, column, giver: "\(given.device)/\(origin)",
                    over: present?.total == total.total ? nil : present?.clock)
                stamped[origin] = CounterTotal(total.total, clock)
            }
            return stamped
        }
    }

    /// The total for a sum that an app carried over from an earlier life of the row, unaware that the column is a
    /// counter. The sum becomes the server's own total, and devices add to it. The sum counts only once, when the new
    /// life begins.
    mutating func total(_ sum: JSON, _ column: String, _ given: WriteClock?) -> [String: CounterTotal]? {
        guard let sum = sum.int, let given else { return nil }
        let stamp = accept(given, column, giver: "\(given.device)/\(ServerClock.device)")
        return [ServerClock.device: CounterTotal(sum, stamp)]
    }

    /// A device's clock, or its replacement if the clock runs ahead.
    ///
    /// - Parameter standing: The clock of a different value in the row, if any. If the pushing device also wrote that
    ///   value, and the value's clock is a replacement or later, then this write is the later one, because a device's
    ///   pushes arrive in order. The clock of this write may be earlier if the device has corrected its time and does
    ///   not know of the replacement.
    private mutating func accept(
        _ given: WriteClock, _ column: String, giver: String, over standing: WriteClock? = nil
    ) -> WriteClock {
        if let replaced = memory.replaced[column]?[giver], given <= replaced.given {
            if given == replaced.given {
                adjusted.insert(column)
                return replaced.stamp
            }
            if let standing, given.device == pusher, standing.device == pusher, standing >= replaced.stamp,
                given <= standing, !clock.isAhead(standing)
            {
                adjusted.insert(column)
                return WriteClock(stamp: standing.stamp.successor, device: given.device)
            }
            // The device corrected its clock after the replaced write, so this later write has an earlier stamp.
            if given.stamp > replaced.stamp.stamp, !clock.isAhead(given) { return given }
            // An earlier write of the same device must remain earlier.
            let before = Stamp(rawValue: replaced.stamp.stamp.rawValue - 1)
            return WriteClock(stamp: min(given.stamp, before), device: given.device)
        }
        guard clock.isAhead(given) else { return given }
        adjusted.insert(column)
        let stamp = WriteClock(stamp: tick(), device: given.device)
        memory.replaced[column, default: [:]][giver] = ReplacedClock(given: given, stamp: stamp)
        return stamp
    }

    private mutating func tick() -> Stamp {
        if let ownStamp { return ownStamp }
        clock.witness(row)
        let stamp = clock.tick().stamp
        ownStamp = stamp
        return stamp
    }
}
