// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// A subscription to a value, active while it is held. A cell holds one for the value that it shows.
///
/// While the value is missing, the loader fetches it at the subscription's priority. A loaded value stays in memory
/// while a subscription holds it, as long as held values use at most half of the memory limit. Releasing the
/// subscription cancels it.
public final class LoadSubscription: Sendable {
    let id: HolderID
    private let listener: Mutex<Listener?>

    /// A struct, because `Mutex` wraps a bare closure again at every access.
    private struct Listener: Sendable {
        /// Receives a new priority, or nil when the subscription ends.
        let change: @Sendable (HolderID, LoadPriority?) -> Void
    }

    @usableFromInline
    init(_ id: HolderID, _ change: @escaping @Sendable (HolderID, LoadPriority?) -> Void) {
        self.id = id
        listener = Mutex(Listener(change: change))
    }

    deinit { cancel() }

    /// Changes how soon the value is needed. Without effect after the value is loaded.
    public func setPriority(_ priority: LoadPriority) { listener.withLock { $0 }?.change(id, priority) }

    /// Ends the subscription. No event is delivered after this returns, except one that another thread is already
    /// delivering.
    ///
    /// The fetch continues for other callers. Without other callers, it stops after the loader's linger.
    public func cancel() {
        let listener = listener.withLock { listener in
            defer { listener = nil }
            return listener
        }
        listener?.change(id, nil)
    }
}
