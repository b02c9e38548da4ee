// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The clocks and values that a push sent for one row. Kept in memory while the push is in flight.
struct SentRow: Sendable, Equatable {
    enum Kind: String, Sendable { case create, update, delete }

    let ref: RowRef
    let kind: Kind
    let generation: Int
    /// Mask of the sent columns and, for a create or a delete, of the row's life.
    let mask: Int64
    let lifeStamp: Stamp
    /// The clock that a deletion was sent with.
    var deletion: WriteClock? = nil
    let clocks: [String: EditClock]
    let values: JSONObject
    /// The sent counter totals, by column.
    var totals: [String: [CounterTotal]] = [:]
    /// Mask of the columns that an earlier push had sent without an answer.
    let sentBefore: Int64
    /// Whether the push carries a life that the server had and lost.
    var restores = false

    /// The clocks of the server's row after it took everything that was sent. If the server set a new row's clock back,
    /// the earlier clock counts.
    ///
    /// - Parameters:
    ///   - won: The server's values that won over the sent ones.
    ///   - device: The id under which this device sent the row.
    func confirmed(with won: RowPatch, device: String) -> ColumnClocks {
        if kind == .create, !restores {
            let mine = WriteClock(stamp: lifeStamp, device: device)
            return ColumnClocks(common: min(mine, won.clocks?.earliest ?? mine))
        }
        return ColumnClocks(packing: clocks.filter { totals[$0.key] == nil }.mapValues { $0.clock(device) })
    }
}
