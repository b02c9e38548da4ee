// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The clocks and values that a push sent for one row. In memory only, while the push is in flight.
struct SentRow: Sendable, Equatable {
    enum Kind: String, Sendable { case create, update, delete, move }

    let ref: RowRef
    /// The number of the ``Scope`` that the row was sent to. For a move, the destination.
    var scope = Scope.personal
    /// For a move: the number of the scope that the row leaves.
    var source: Int64?
    let kind: Kind
    var generation: Int
    /// Mask of the sent columns and, for a create or a delete, the life.
    let mask: Int64
    let lifeStamp: Stamp
    var deletion: WriteClock? = nil
    let clocks: [String: EditClock]
    let values: JSONObject
    var totals: [String: [CounterTotal]] = [:]
    /// Mask of the columns that an earlier push had sent without an answer.
    let sentBefore: Int64
    /// Whether the server had and lost the sent life.
    var restores = false

    /// The clocks of the server's row if the server took everything. For a new row, a clock that the server set back
    /// counts.
    func confirmed(with won: RowPatch, device: String) -> ColumnClocks {
        if kind == .create, !restores {
            let mine = WriteClock(stamp: lifeStamp, device: device)
            return ColumnClocks(common: min(mine, won.clocks?.earliest ?? mine))
        }
        return ColumnClocks(packing: clocks.filter { totals[$0.key] == nil }.mapValues { $0.clock(device) })
    }
}
