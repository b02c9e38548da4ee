// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    public import Optimist
    public import SwiftUI

    /// The state of sync, for example "Offline, 3 pending, 1 refused".
    ///
    /// ```swift
    /// @Sync var sync
    ///
    /// Text(sync.summary)
    /// List(todos) { … }.refreshable { await sync.syncNow() }
    /// ```
    ///
    /// Without `.optimist(client)` on the scene, sync counts as stopped.
    @propertyWrapper
    public struct Sync: DynamicProperty {
        @Environment(\.syncStatus) private var model
        @State private var none: SyncStatusModel

        /// Reads the state from the view's environment.
        @MainActor public init() { _none = State(wrappedValue: SyncStatusModel()) }

        /// The state.
        public var wrappedValue: SyncStatusModel { model ?? none }
    }

    extension SyncStatusModel {
        /// The oldest rejection of a record type, as the item of a sheet. Closing the sheet postpones the rejection and
        /// shows the next one.
        ///
        /// - Parameter type: The record type.
        public func firstRejection<Record: SyncedRecord>(of type: Record.Type) -> Binding<Rejection?> {
            Binding(
                get: { @MainActor in self.rejections?.first(of: type) },
                set: { @MainActor in
                    if $0 == nil, let shown = self.rejections?.first(of: type) { self.rejections?.postpone(shown) }
                })
        }
    }
#endif
