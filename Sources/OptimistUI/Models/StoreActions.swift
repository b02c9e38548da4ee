// This source file is part of the Optimist open source project, under the MIT licence.

import Observation
import Optimist

/// What a user does to a store from a view, and why the last of it failed.
@MainActor
@Observable
final class StoreActions {
    /// Why the last action failed. Nil: it did not fail.
    private(set) var failure: (any Error)?
    @ObservationIgnored let store: Store

    init(_ store: Store) { self.store = store }

    func act(_ action: @Sendable (Store) async throws -> Void) async {
        do {
            try await action(store)
            failure = nil
        } catch {
            failure = error
        }
    }
}
