// This source file is part of the Optimist open source project, under the MIT licence.

/// A caller that holds on to a key: while it waits, and then while it shows the value.
struct Holder {
    let serial: Int
    /// That of the key.
    let place: Int
    let freshness: Freshness
    /// The flight whose fetch waits for this. Nil: it is not a fetch that waits.
    var asker: FlightID?
    var priority: LoadPriority
    var isWaiting = false
    /// It was told of a failure, and of nothing since.
    var hasFailed = false
    var pin: MemoryQueue.Pin?
}

/// Names a holder among those that follow each other in a place.
@usableFromInline
struct HolderID: Sendable {
    @usableFromInline let place: Int
    @usableFromInline let serial: Int
}
