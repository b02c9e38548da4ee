// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// A window of the keys near the screen. It prefetches their values, and keeps them in memory while they are near.
///
/// Use one window for each scrolling list. The window releases keys that leave it; a view that still shows such a key
/// holds its own subscription. If a fetch failed, or a nearby value was dropped from memory, the next call of
/// ``setVisible(_:)`` requests it again, subject to the loader's `failureTTL`.
public final class PrefetchWindow<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        var wanted: Set<Key> = []
        var tickets: [Key: LoadSubscription] = [:]
        var number = 0
    }

    private let loader: Loader<Key, Value>
    private let priority: LoadPriority
    private let state = Mutex(State())

    /// Creates an empty window.
    ///
    /// - Parameters:
    ///   - loader: Loads the values.
    ///   - priority: How soon the values are needed. Default: ``LoadPriority/prefetch``.
    public init(_ loader: Loader<Key, Value>, priority: LoadPriority = .prefetch) {
        self.loader = loader
        self.priority = priority
    }

    deinit {
        let tickets = state.withLock { $0.tickets }
        loader.batch { for ticket in tickets.values { ticket.cancel() } }
    }

    /// Sets the keys near the screen, nearest first. Keys that are no longer listed are released.
    ///
    /// If a key is listed twice, its first position counts. Any thread may call this. If calls overlap, the last one
    /// wins.
    public func setVisible(_ keys: [Key]) {
        var wanted: Set<Key> = []
        let keys = keys.filter { wanted.insert($0).inserted }
        let ended = loader.heldInVain(state.withLock { $0.tickets })
        let (number, gone, new) = state.withLock { state in
            state.number += 1
            state.wanted = wanted
            let gone = state.tickets.filter { !wanted.contains($0.key) || ended[$0.key] === $0.value }
            for key in gone.keys { state.tickets[key] = nil }
            return (state.number, gone, keys.filter { state.tickets[$0] == nil })
        }
        // One batch, so that the slots of released keys go to the keys that are near now.
        loader.batch {
            for key in new { hold(loader.subscribe(key, priority: priority) { _ in }, for: key) }
            if state.withLock({ $0.number }) == number { loader.order(keys, at: priority) }
            for ticket in gone.values { ticket.cancel() }
        }
    }

    private func hold(_ ticket: LoadSubscription, for key: Key) {
        let isHeld = state.withLock { state in
            guard state.wanted.contains(key), state.tickets[key] == nil else { return false }
            state.tickets[key] = ticket
            return true
        }
        if !isHeld { ticket.cancel() }
    }
}
