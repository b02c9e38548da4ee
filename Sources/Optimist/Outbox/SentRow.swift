// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The versions and values that were sent of a row, kept in memory while the push is in flight.
struct SentRow: Sendable, Equatable {
    enum Kind: String, Sendable { case create, update, delete }

    let ref: RowRef
    let kind: Kind
    let generation: Int
    /// The columns sent and, for a create or delete, the life.
    let mask: Int64
    let lifeStamp: Stamp
    /// The clock that a deletion was sent with.
    var deletion: Clock? = nil
    let stamps: [String: Stamp]
    let values: JSONObject
    /// The totals sent of counters.
    var totals: [String: [CounterTotal]] = [:]
    /// The columns that had been sent before and were unanswered.
    let sentBefore: Int64
    /// Whether it carries what the server had confirmed before it lost it.
    var heals = false
}
