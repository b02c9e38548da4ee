// This source file is part of the Optimist open source project, under the MIT licence.

/// A caller that holds a key: it waits for the value, then shows it.
struct Holder {
    let serial: Int
    let place: Int
    let freshness: Freshness
    /// The flight whose fetch waits for this value. Nil if the caller is not a fetch.
    var asker: FlightID?
    var priority: LoadPriority
    var isWaiting = false
    var hasFailed = false
    var pin: MemoryQueue.Pin?
}

/// Identifies a holder among successive holders at the same index.
@usableFromInline
struct HolderID: Sendable {
    @usableFromInline let place: Int
    @usableFromInline let serial: Int
}
