// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// The loader of a feed's values, independent of the type of its keys.
struct FeedValues<Item: Sendable, Value: Sendable>: Sendable {
    let subscribe:
        @Sendable (Item, LoadPriority, _ isRetry: Bool, @escaping @Sendable (LoadEvent<Value>) -> Void) ->
            LoadSubscription
    let batch: @Sendable (() -> Void) -> Void
    let order: @Sendable ([Item]) -> Void
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
