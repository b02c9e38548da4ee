// This source file is part of the Optimist open source project, under the MIT licence.

import Observation
import Optimist

/// Runs a user's actions on a store, and keeps the error of the last one.
@MainActor
@Observable
final class StoreActions {
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
