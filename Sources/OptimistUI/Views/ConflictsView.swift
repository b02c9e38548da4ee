// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    import Foundation
    public import Optimist
    import OptimistWire
    public import SwiftUI

    /// A list of the user's edits that lost a conflict, each with buttons to write it again or forget it. English; an
    /// app in other languages builds its own view from ``ConflictsModel``.
    public struct ConflictsView: View {
        @Sync private var sync

        /// Shows the conflicts of the environment's store.
        public init() {}

        public var body: some View {
            if let model = sync.conflicts, !model.conflicts.isEmpty {
                List(model.conflicts) { ConflictView($0) }
            } else if let failure = sync.conflicts?.failure {
                ContentUnavailableView(
                    "The conflicts cannot be read", systemImage: "exclamationmark.triangle",
                    description: Text(failure.localizedDescription))
            } else {
                ContentUnavailableView(
                    "No conflicts", systemImage: "checkmark.circle",
                    description: Text("None of your edits was replaced by another device's."))
            }
        }
    }

    /// One conflict: the user's values, the values that replaced them, and two buttons.
    public struct ConflictView: View {
        private let conflict: Conflict
        @Sync private var sync

        /// Shows a conflict.
        ///
        /// - Parameter conflict: A conflict of the environment's store.
        public init(_ conflict: Conflict) { self.conflict = conflict }

        public var body: some View {
            VStack(alignment: .leading) {
                Text(conflict.reason == .deleted ? "The item was deleted" : "Another device's edit was later").font(
                    .headline)
                ValuesView(title: "Mine", values: conflict.mine)
                if let theirs = conflict.theirs { ValuesView(title: "Theirs", values: theirs) }
                HStack {
                    Button("Use mine") { Task { await sync.conflicts?.restore(conflict) } }
                    Button("Forget", role: .destructive) { Task { await sync.conflicts?.forget(conflict) } }
                }
                .buttonStyle(.borderless)
                if let failure = sync.conflicts?.failure { Text(failure.localizedDescription).font(.footnote) }
            }
        }
    }
#endif
