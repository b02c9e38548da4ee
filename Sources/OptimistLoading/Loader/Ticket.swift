// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// Somebody's wish for a value, as long as it is held: a cell keeps one for what it shows.
///
/// While it waits, the value is fetched as soon as the ticket says. When the value is here, the ticket keeps it in
/// memory, together with others up to half of what the memory may hold. Letting go of the ticket is the same as
/// cancelling it.
public final class Ticket: Sendable {
    let id: HolderID
    /// Tells the loader of a new priority, or with nil that the value is wanted no more. Nil: it has been told.
    private let change: Mutex<(@Sendable (HolderID, LoadPriority?) -> Void)?>

    @usableFromInline
    init(_ id: HolderID, _ change: @escaping @Sendable (HolderID, LoadPriority?) -> Void) {
        self.id = id
        self.change = Mutex(change)
    }

    deinit { cancel() }

    /// Says how soon the value is needed from now on. Does nothing once it is here.
    public func need(_ priority: LoadPriority) { change.withLock { $0 }?(id, priority) }

    /// Wants the value no more. Nothing is told after this returns, but what another thread is telling at this moment.
    ///
    /// The fetch goes on for those who want it too. If there are none it stops, after the loader's linger.
    public func cancel() {
        let change = change.withLock { change in
            defer { change = nil }
            return change
        }
        change?(id, nil)
    }
}
