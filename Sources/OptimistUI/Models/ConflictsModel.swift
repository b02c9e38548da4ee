// This source file is part of the Optimist open source project, under the MIT licence.

public import Observation
public import Optimist

/// An observable list of the user's edits that lost a conflict, with the actions a user can take.
@MainActor
@Observable
public final class ConflictsModel {
    /// The conflicts, oldest first, limited to the last 1,000.
    public private(set) var conflicts: [Conflict] = []
    /// The error of the last action or of reading the conflicts. Nil if both succeeded.
    ///
    /// A failed action leaves its conflict in place, and a failed read leaves the list as it was.
    public var failure: (any Error)? { actions.failure ?? reading }

    private let actions: StoreActions
    private var reading: (any Error)?

    /// Creates a model without conflicts. It is updated only while ``follow()`` runs.
    public init(_ store: Store) { actions = StoreActions(store) }

    /// Keeps ``conflicts`` up to date until the task is cancelled.
    public func follow() async {
        for await state in actions.store.observe(Conflict.fetchAll) {
            conflicts = state.value ?? conflicts
            reading = state.failure
        }
    }

    /// Writes the losing edit again, as a new write by the user. On failure, sets ``failure``.
    ///
    /// - Parameter conflict: One of ``conflicts``.
    public func restore(_ conflict: Conflict) async { await actions.act { try await $0.restore(conflict) } }

    /// Forgets the losing edit. On failure, sets ``failure``.
    ///
    /// - Parameter conflict: One of ``conflicts``.
    public func forget(_ conflict: Conflict) async { await actions.act { try await $0.forget(conflict) } }
}
