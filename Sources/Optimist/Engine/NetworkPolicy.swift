// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
public import OptimistSession

/// The app's rule for which tables sync on the current network (S10).
final class NetworkPolicy: Sendable {
    private struct State {
        var path = NetworkPath(isOnline: true)
        var allows: (@Sendable (_ table: String, _ path: NetworkPath) -> Bool)?
    }

    private let state = Mutex(State())

    func set(_ path: NetworkPath) { state.withLock { $0.path = path } }

    func set(_ allows: @escaping @Sendable (String, NetworkPath) -> Bool) { state.withLock { $0.allows = allows } }

    /// The tables that must wait for a better network.
    func withheld(of layouts: [TableLayout]) -> [TableLayout] {
        let state = state.withLock { $0 }
        guard let allows = state.allows, state.path.isExpensive || state.path.isConstrained else { return [] }
        return layouts.filter { !allows($0.name, state.path) }
    }
}

extension SyncEngine {
    /// Sets which tables sync while the network is expensive or constrained. Default: all tables sync on every network.
    ///
    /// The engine neither sends nor receives a withheld table until the network is better. New writes to the table stay
    /// pending, and so do all rows written together with them. The engine does not stop a request under way.
    ///
    /// ```swift
    /// sync.setNetworkPolicy { table, path in table != "photo" || !path.isExpensive }
    /// ```
    ///
    /// - Parameter allows: Called before each push and pull, on any thread, so it must be quick. Call
    ///   `setNetworkPolicy` again when the user changes a setting.
    public nonisolated func setNetworkPolicy(
        _ allows: @escaping @Sendable (_ table: String, _ path: NetworkPath) -> Bool
    ) {
        store.network.set(allows)
        syncNow()
    }
}
