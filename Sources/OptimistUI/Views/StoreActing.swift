// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    import Foundation
    import Optimist
    import SwiftUI

    /// Runs a user's actions on the environment's store, and keeps the error of the last one.
    struct StoreActing: DynamicProperty {
        @Environment(\.store) private var store
        @State private var lastError: (any Error)?

        /// The text of the last action's error. Nil if it succeeded.
        @MainActor var failure: String? { lastError?.localizedDescription }

        /// Runs an action in a task.
        ///
        /// - Parameter then: Runs after a success.
        @MainActor func callAsFunction<Value: Sendable>(
            _ action: @escaping @Sendable (Store) async throws -> Value,
            then: @escaping @MainActor (Value) -> Void = { _ in }
        ) {
            Task {
                do {
                    let value = try await action(store.store)
                    lastError = nil
                    then(value)
                } catch {
                    lastError = error
                }
            }
        }
    }
#endif
