// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The totals that this device has counted in one column of a row, under each of its ids (M3).
///
/// Invariant: the app's column shows the other devices' count plus the totals here. The other devices' count is never
/// stored. It is the server's sum minus this device's part in the same answer or page, so no count is lost or added
/// twice, in any order of answers and pages.
struct Counter: Equatable, Sendable {
    struct Total: Equatable, Sendable {
        var value: Int64
        var stamp: Stamp
        /// The part of ``value`` that the server is known to have.
        var confirmed: Int64 = 0
        /// The transaction that reported ``confirmed``. Earlier transactions do not change ``confirmed``.
        var seq: Int64 = 0
    }

    var totals: [String: Total] = [:]

    var unsent: Int64 { totals.values.reduce(0) { $0 &+ $1.value &- $1.confirmed } }

    /// The bytes that the totals add to a push.
    var size: Int { totals.count == 1 ? 12 : totals.count * 90 }

    var pushed: [CounterTotal] {
        totals.sorted { $0.key < $1.key }.map { CounterTotal($1.value, WriteClock(stamp: $1.stamp, device: $0)) }
    }

    /// Takes the server's sum from a page or an answer.
    ///
    /// A dirty column keeps its totals. In a clean column, a total takes the server's value, unless a later transaction
    /// has reported the total. So a device whose database went back learns its later counts.
    ///
    /// - Parameter mine: This device's part of the sum, by each of its ids.
    /// - Returns: The sum, with this device's part replaced by its confirmed totals.
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

    /// The totals to carry over into another life. If the server lacks a total in that life, only the total's unsent
    /// part is carried over.
    ///
    /// - Parameter mine: This device's totals in that life, by id.
    func goingOn(with mine: [String: Int64]) -> Counter? {
        let totals = totals.compactMap { device, total -> (String, Total)? in
            if mine[device] != nil { return (device, total) }
            let unsent = total.value &- total.confirmed
            return unsent == 0 ? nil : (device, Total(value: unsent, stamp: total.stamp))
        }
        return totals.isEmpty ? nil : Counter(totals: Dictionary(uniqueKeysWithValues: totals))
    }

    mutating func confirm(_ sent: [CounterTotal], seq: Int64) {
        for sent in sent {
            totals[sent.clock.device]?.confirmed = sent.total
            totals[sent.clock.device]?.seq = seq
        }
    }

    /// Takes back a refused count, but not the counts made after the push. Returns the refused amount.
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
    /// The value in a push. A single total omits its clock, which is the column's.
    var json: JSON {
        if count == 1 { return CounterPatch.totals([.init(self[0].total)]).json }
        return CounterPatch.totals(map { .init($0.total, origin: $0.clock.device, clock: $0.clock) }).json
    }

    var latestClock: WriteClock? { map(\.clock).max() }
}
