// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What this device has counted in one column of a row, under each id that it has had (M3). Pure.
///
/// The app's column shows what others have counted plus the totals here. What others have counted is never stored: it
/// is the server's sum without what that contains of this device, both taken from one answer or page. A total here is
/// thus neither lost nor counted twice, whatever order answers, echoes and older pages come in.
struct Counter: Equatable, Sendable {
    struct Total: Equatable, Sendable {
        /// As the app's column contains it.
        var value: Int64
        /// When it was last changed.
        var stamp: Stamp
        /// What the server is known to hold of it.
        var confirmed: Int64 = 0
        /// The server's transaction of the answer or page that told this.
        var seq: Int64 = 0
    }

    /// By device id.
    var totals: [String: Total] = [:]

    /// The unsent part of all totals together.
    var unsent: Int64 { totals.values.reduce(0) { $0 &+ $1.value &- $1.confirmed } }

    /// How many bytes more than the column's value they take in a push.
    var size: Int { totals.count == 1 ? 12 : totals.count * 90 }

    /// The totals as a push carries them, by device.
    var pushed: [CounterTotal] {
        totals.sorted { $0.key < $1.key }.map { CounterTotal($1.value, Clock(stamp: $1.stamp, device: $0)) }
    }

    /// Takes the server's sum from a page or an answer.
    ///
    /// A total that is unsent stays; one that is not becomes what the server has, unless the server's word is older
    /// than its answer to that total. So a device whose database went back learns of what it counted in between.
    ///
    /// - Parameters:
    ///   - mine: What the sum contains of this device, by its ids.
    ///   - clock: The column's.
    /// - Returns: What the server's sum would be without what is unsent here.
    mutating func take(_ sum: Int64, mine: [String: Int64], seq: Int64, clock: Clock?, isDirty: Bool) -> Int64 {
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

    /// The totals as they go on in another life of the row. Where the server has no total in that life, only the unsent
    /// part goes on.
    ///
    /// - Parameter mine: What the server's sum in that life contains of this device, by its ids.
    func goingOn(with mine: [String: Int64]) -> Counter? {
        let totals = totals.compactMap { device, total -> (String, Total)? in
            if mine[device] != nil { return (device, total) }
            let unsent = total.value &- total.confirmed
            return unsent == 0 ? nil : (device, Total(value: unsent, stamp: total.stamp))
        }
        return totals.isEmpty ? nil : Counter(totals: Dictionary(uniqueKeysWithValues: totals))
    }

    /// Books that the server has these totals.
    mutating func confirm(_ sent: [CounterTotal], seq: Int64) {
        for sent in sent {
            totals[sent.clock.device]?.confirmed = sent.total
            totals[sent.clock.device]?.seq = seq
        }
    }

    /// Takes back a refused count: totals return to what the server has, plus what was counted since.
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
    /// The value of a counter in a push. The clock of a single total goes beside it, as the column's.
    var json: JSON {
        if count == 1 { return CounterPatch.totals([.init(self[0].total)]).json }
        return CounterPatch.totals(map { .init($0.total, origin: $0.clock.device, clock: $0.clock) }).json
    }

    /// The clock of the column that holds these totals.
    var latestClock: Clock? { map(\.clock).max() }
}

/// A counter's change as the journal and the rejections keep it: `{"@add": 2}`. It can be made again later.
enum CounterChange {
    static func json(_ added: Int64) -> JSON { ["@add": .int(added)] }
    static func added(_ json: JSON) -> Int64? { json["@add"]?.int }
}
