// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistSession

extension SyncEngine {
    /// Sets which tables sync while the network is expensive or constrained. Default: all tables on every network.
    ///
    /// The engine neither sends nor receives a withheld table until the network is better. New writes to the table stay
    /// pending, with all rows written together with them. A request under way continues.
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
