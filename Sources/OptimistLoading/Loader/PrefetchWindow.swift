// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// The keys near the screen. Their values are fetched ahead, and kept in memory until they are far again (F8).
///
/// One for each list that scrolls. What leaves the window is wanted by it no more; a view that wants it keeps its own
/// ticket. What failed, or was let go although it is near, is fetched again when the window is shown next, after the
/// loader's pause if there is one.
public final class PrefetchWindow<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        var wanted: Set<Key> = []
        var tickets: [Key: LoadSubscription] = [:]
        /// How often something was shown.
        var number = 0
    }

    private let loader: Loader<Key, Value>
    private let priority: LoadPriority
    private let state = Mutex(State())

    /// Makes an empty window.
    ///
    /// - Parameters:
    ///   - loader: Loads what is in it.
    ///   - priority: How soon that is needed. Default: perhaps never.
    public init(_ loader: Loader<Key, Value>, priority: LoadPriority = .prefetch) {
        self.loader = loader
        self.priority = priority
    }

    deinit {
        let tickets = state.withLock { $0.tickets }
        loader.batch { for ticket in tickets.values { ticket.cancel() } }
    }

    /// Says what is near, the nearest first. Keys that were near and are no longer named are let go.
    ///
    /// A key that is named twice is as near as it is first. Any thread may call; of several calls at once the last one
    /// counts.
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
        // In one step, so that the slots of keys that have left go to the keys that are near now.
        loader.batch {
            for key in new { hold(loader.subscribe(key, priority: priority) { _ in }, for: key) }
            if state.withLock({ $0.number }) == number { loader.order(keys, at: priority) }
            for ticket in gone.values { ticket.cancel() }
        }
    }

    /// Keeps a ticket, unless its key has left the window meanwhile or another call has one.
    private func hold(_ ticket: LoadSubscription, for key: Key) {
        let isHeld = state.withLock { state in
            guard state.wanted.contains(key), state.tickets[key] == nil else { return false }
            state.tickets[key] = ticket
            return true
        }
        if !isHeld { ticket.cancel() }
    }
}
