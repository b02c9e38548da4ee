// This source file is part of the Optimist open source project, under the MIT licence.

public import Observation
public import Optimist

/// The user's edits that lost to others, for views that observe, with what the user can do about them.
@MainActor
@Observable
public final class ConflictsModel {
    /// The conflicts, oldest first: the last 1,000.
    public private(set) var conflicts: [Conflict] = []
    /// Why the last action failed, and the conflict is still there; or why the conflicts cannot be read, and the last ones stay.
    /// Nil: neither.
    public var failure: (any Error)? { actions.failure ?? reading }

    private let actions: StoreActions
    /// Why they cannot be read. Nil: they can.
    private var reading: (any Error)?

    /// Makes a model without conflicts. It changes only while ``follow()`` runs.
    public init(_ store: Store) { actions = StoreActions(store) }

    /// Keeps ``conflicts`` up to date until the task is cancelled.
    public func follow() async {
        for await state in actions.store.observe(Conflict.fetchAll) {
            conflicts = state.value ?? conflicts
            reading = state.failure
        }
    }

    /// Writes the losing edit again, as a new write of the user. If that fails, ``failure`` says why.
    ///
    /// - Parameter conflict: One of ``conflicts``.
    public func restore(_ conflict: Conflict) async { await actions.act { try await $0.restore(conflict) } }

    /// Forgets the losing edit. If that fails, ``failure`` says why.
    ///
    /// - Parameter conflict: One of ``conflicts``.
    public func forget(_ conflict: Conflict) async { await actions.act { try await $0.forget(conflict) } }
}
