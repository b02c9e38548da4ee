// This source file is part of the Optimist open source project, under the MIT licence.

/// Where a feed gets the values of its items: a loader, whatever its keys are.
struct FeedValues<Item: Sendable, Value: Sendable>: Sendable {
    let subscribe: @Sendable (Item, LoadPriority, @escaping @Sendable (LoadEvent<Value>) -> Void) -> Ticket
    /// Says what is wanted, the nearest first.
    let order: @Sendable ([Item]) -> Void
    let isFetching: @Sendable (Item) -> Bool

    init<Key>(_ loader: Loader<Key, Value>, _ freshness: Freshness, _ key: @escaping @Sendable (Item) -> Key) {
        subscribe = { loader.subscribe(key($0), priority: $1, freshness: freshness, receive: $2) }
        order = { loader.order($0.map(key)) }
        isFetching = { loader.isFetching(key($0)) }
    }
}

extension Loader {
    /// Whether more is to come for those who want a key.
    fileprivate func isFetching(_ key: Key) -> Bool {
        inspect { state in state.places[key].map { state.machine.isFlying($0) } ?? false }
    }
}
