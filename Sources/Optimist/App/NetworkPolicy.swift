// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistSession

/// Decides which tables sync on the current network, by the app's rule (S10).
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
