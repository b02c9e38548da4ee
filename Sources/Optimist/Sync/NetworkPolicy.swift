// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistSession
import Synchronization

/// Which tables sync on the network of the moment, as the app says (S10).
final class NetworkPolicy: Sendable {
    private struct State {
        var path = NetworkPath(isOnline: true)
        var allows: (@Sendable (_ table: String, _ path: NetworkPath) -> Bool)?
    }

    private let state = Mutex(State())

    func set(_ path: NetworkPath) { state.withLock { $0.path = path } }

    func set(_ allows: @escaping @Sendable (String, NetworkPath) -> Bool) { state.withLock { $0.allows = allows } }

    /// The tables that are to wait for a better network.
    func withheld(of layouts: [TableLayout]) -> [TableLayout] {
        let state = state.withLock { $0 }
        guard let allows = state.allows, state.path.isExpensive || state.path.isConstrained else { return [] }
        return layouts.filter { !allows($0.name, state.path) }
    }
}

extension SyncEngine {
    /// Says which tables sync while the network is expensive or constrained. Default: all of them, on every network.
    ///
    /// A table that is withheld is neither sent nor received until the network is better. Its new writes stay pending,
    /// and so do all rows that were written together with them. A request under way is not stopped.
    ///
    /// ```swift
    /// sync.setNetworkPolicy { table, path in table != "photo" || !path.isExpensive }
    /// ```
    ///
    /// - Parameter allows: Asked before each push and pull, from any thread, and so to be quick. Call this again when the
    ///   user changes a setting.
    public nonisolated func setNetworkPolicy(
        _ allows: @escaping @Sendable (_ table: String, _ path: NetworkPath) -> Bool
    ) {
        store.network.set(allows)
        wake()
    }
}
