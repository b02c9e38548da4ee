// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// What is near the screen: it is fetched ahead, and kept in memory until it is far again (F8).
///
/// One for each list that scrolls. What leaves the window is wanted by it no more; a view that wants it keeps its own ticket.
public final class PrefetchWindow<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let loader: Loader<Key, Value>
    private let priority: LoadPriority
    private let tickets = Mutex<[Key: Ticket]>([:])

    /// - Parameter priority: How soon what is in it is needed. Default: perhaps never.
    public init(_ loader: Loader<Key, Value>, priority: LoadPriority = .prefetch) {
        self.loader = loader
        self.priority = priority
    }

    /// Says what is near, the nearest first. What was near and is not named any more is let go.
    public func show(_ keys: [Key]) {
        let wanted = Set(keys)
        let (gone, new) = tickets.withLock { tickets in
            let gone = tickets.filter { !wanted.contains($0.key) }
            for key in gone.keys { tickets[key] = nil }
            return (gone, keys.filter { tickets[$0] == nil })
        }
        for ticket in gone.values { ticket.cancel() }
        for key in new {
            let ticket = loader.subscribe(key, priority: priority) { _ in }
            tickets.withLock { $0[key] = ticket }
        }
        loader.order(keys)
    }
}
