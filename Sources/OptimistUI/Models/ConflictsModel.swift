// This source file is part of the Optimist open source project, under the MIT licence.

public import Observation
public import Optimist

/// The user's edits that lost to others, for views that observe, with what the user can do about them.
@MainActor
@Observable
public final class ConflictsModel {
    /// The conflicts, oldest first: the last 1,000.
    public private(set) var conflicts: [Conflict] = []
    /// Why the last action failed. Nil: it did not fail. The conflict is still there then.
    public private(set) var failure: (any Error)?

    private let store: Store

    /// Makes a model without conflicts. It changes only while ``follow()`` runs.
    public init(_ store: Store) { self.store = store }

    /// Keeps ``conflicts`` up to date until the task is cancelled.
    public func follow() async {
        for await conflicts in store.observe(Conflict.fetchAll) { self.conflicts = conflicts }
    }

    /// Writes the losing edit again, as a new write of the user. If that fails, ``failure`` says why.
    ///
    /// - Parameter conflict: One of ``conflicts``.
    public func restore(_ conflict: Conflict) async { await act { try await $0.restore(conflict) } }

    /// Forgets the losing edit. If that fails, ``failure`` says why.
    ///
    /// - Parameter conflict: One of ``conflicts``.
    public func forget(_ conflict: Conflict) async { await act { try await $0.forget(conflict) } }

    private func act(_ action: @Sendable (Store) async throws -> Void) async {
        do {
            try await action(store)
            failure = nil
        } catch {
            failure = error
        }
    }
}
