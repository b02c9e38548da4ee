// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What this device has counted in one column of a row, under each id that it has had (M3). Pure.
///
/// The unsent part of a total is its value without the part that the server is known to hold. A page changes that part
/// only if it is not older than the page or the answer that told it.
///
/// The app's column shows the count of other devices plus the totals here. The count of other devices is never stored:
/// it is the server's sum minus this device's part of that sum, both from the same answer or page. So no total is lost
/// or counted twice, in whatever order answers, echoes and older pages come.
struct Counter: Equatable, Sendable {
    struct Total: Equatable, Sendable {
        /// The total as the app's column contains it.
        var value: Int64
        /// When the total was last changed.
        var stamp: Stamp
        /// The value of this total that the server is known to hold.
        var confirmed: Int64 = 0
        /// The server's transaction of the answer or page that told ``confirmed``.
        var seq: Int64 = 0
    }

    /// The totals by device id.
    var totals: [String: Total] = [:]

    /// The unsent part of all totals together.
    var unsent: Int64 { totals.values.reduce(0) { $0 &+ $1.value &- $1.confirmed } }

    /// How many bytes the totals take in a push beyond the column's value.
    var size: Int { totals.count == 1 ? 12 : totals.count * 90 }

    /// The totals as a push carries them, by device.
    var pushed: [CounterTotal] {
        totals.sorted { $0.key < $1.key }.map { CounterTotal($1.value, WriteClock(stamp: $1.stamp, device: $0)) }
    }

    /// Takes the server's sum from a page or an answer.
    ///
    /// If the column is dirty, its totals stay. Otherwise a total takes the server's value, unless a later answer or
    /// page has already told that total. So a device whose database went back learns what it counted in between.
    ///
    /// - Parameters:
    ///   - mine: This device's part of the sum, by each of its ids.
    ///   - clock: The column's clock.
    /// - Returns: The server's sum with the totals that the device knows to be confirmed, and without what is unsent
    ///   here.
    mutating func take(_ sum: Int64, mine: [String: Int64], seq: Int64, clock: WriteClock?, isDirty: Bool) -> Int64 {
        let others = mine.values.reduce(sum, &-)
        for (device, value) in mine {
            guard var total = totals[device] else {
                totals[device] = Total(value: value, stamp: clock?.stamp ?? .zero, confirmed: value, seq: seq)
                continue
            }
            guard seq >= total.seq else { continue }
            total.confirmed = value
            total.seq = seq
            if !isDirty, total.value != value {
                total.value = value
                total.stamp = max(total.stamp, clock?.stamp ?? .zero)
            }
            totals[device] = total
        }
        return totals.values.reduce(others) { $0 &+ $1.confirmed }
    }

    /// The totals that the device carries over into another life of the row. If the server has no total of an id in
    /// that life, only the unsent part of that total is carried over.
    ///
    /// - Parameter mine: This device's part of the server's sum in that life, by each of its ids.
    func goingOn(with mine: [String: Int64]) -> Counter? {
        let totals = totals.compactMap { device, total -> (String, Total)? in
            if mine[device] != nil { return (device, total) }
            let unsent = total.value &- total.confirmed
            return unsent == 0 ? nil : (device, Total(value: unsent, stamp: total.stamp))
        }
        return totals.isEmpty ? nil : Counter(totals: Dictionary(uniqueKeysWithValues: totals))
    }

    /// Notes that the server has these totals.
    mutating func confirm(_ sent: [CounterTotal], seq: Int64) {
        for sent in sent {
            totals[sent.clock.device]?.confirmed = sent.total
            totals[sent.clock.device]?.seq = seq
        }
    }

    /// Takes back a refused count. The totals return to what the server has, plus what the device has counted since.
    ///
    /// - Returns: The amount that was added and is now taken back.
    mutating func takeBack(_ sent: [CounterTotal]) -> Int64 {
        var refused: Int64 = 0
        for sent in sent {
            guard let total = totals[sent.clock.device] else { continue }
            let added = sent.total &- total.confirmed
            totals[sent.clock.device]?.value = total.value &- added
            refused = refused &+ added
        }
        return refused
    }
}

extension [CounterTotal] {
    /// The value of a counter in a push. If there is only one total, its clock is sent as the column's clock.
    var json: JSON {
        if count == 1 { return CounterPatch.totals([.init(self[0].total)]).json }
        return CounterPatch.totals(map { .init($0.total, origin: $0.clock.device, clock: $0.clock) }).json
    }

    /// The clock of the column that holds these totals.
    var latestClock: WriteClock? { map(\.clock).max() }
}
