// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// A subscription to a value, for as long as it is held: a cell keeps one for the value that it shows.
///
/// While it waits, the value is fetched as soon as the ticket says. When the value is here, the ticket keeps it in
/// memory, together with others up to half of what the memory may hold. Letting go of the ticket is the same as
/// cancelling it.
public final class LoadSubscription: Sendable {
    let id: HolderID
    private let listener: Mutex<Listener?>

    /// Whom a ticket tells. A struct, since a function that a `Mutex` holds by itself is wrapped once more by every access.
    private struct Listener: Sendable {
        /// Takes a new priority, or nil when the value is wanted no more.
        let change: @Sendable (HolderID, LoadPriority?) -> Void
    }

    @usableFromInline
    init(_ id: HolderID, _ change: @escaping @Sendable (HolderID, LoadPriority?) -> Void) {
        self.id = id
        listener = Mutex(Listener(change: change))
    }

    deinit { cancel() }

    /// Says how soon the value is needed from now on. Does nothing once it is here.
    public func setPriority(_ priority: LoadPriority) { listener.withLock { $0 }?.change(id, priority) }

    /// Wants the value no more. Nothing is told after this returns, but what another thread is telling at this moment.
    ///
    /// The fetch goes on for those who want it too. If there are none it stops, after the loader's linger.
    public func cancel() {
        let listener = listener.withLock { listener in
            defer { listener = nil }
            return listener
        }
        listener?.change(id, nil)
    }
}
