// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Where a feed gets the values of its items: a loader, whatever its keys are.
struct FeedValues<Item: Sendable, Value: Sendable>: Sendable {
    let subscribe:
        @Sendable (Item, LoadPriority, _ isRetry: Bool, @escaping @Sendable (LoadEvent<Value>) -> Void) ->
            LoadSubscription
    /// Makes several changes as one.
    let batch: @Sendable (() -> Void) -> Void
    /// Says in which order to prefetch.
    let order: @Sendable ([Item]) -> Void
    /// Whether the value that has come must be replaced.
    let isExpired: @Sendable (Item) -> Bool

    init<Key>(_ loader: Loader<Key, Value>, _ freshness: Freshness, _ key: @escaping @Sendable (Item) -> Key) {
        subscribe = { loader.subscribe(key($0), $1, freshness, AskingManner(isRetry: $2), $3) }
        batch = { loader.batch($0) }
        order = { items in
            let keys = items.map(key)
            for priority in [LoadPriority.soon, .prefetch] { loader.order(keys, at: priority) }
        }
        isExpired = { loader.isExpired(key($0)) }
    }
}
