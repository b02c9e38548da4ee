// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    public import Optimist
    public import SwiftUI

    extension View {
        /// Shows a small symbol at the end of a row while the row is pending, was refused, or waits. A synced row has none.
        ///
        /// Assistive technologies read the state too.
        ///
        /// - Parameter record: Any version of the row: only its table and id count.
        public func syncBadge<Record: SyncedRecord & Identifiable>(of record: Record) -> some View
        where Record.ID: Hashable & Sendable {
            HStack {
                self
                Spacer()
                SyncBadge(record)
            }
        }
    }

    /// The symbol of a row's state.
    struct SyncBadge: View {
        @LiveQuery<RowState?> private var state: RowState?

        init<Record: SyncedRecord & Identifiable>(_ record: Record) where Record.ID: Hashable & Sendable {
            _state = LiveQuery(wrappedValue: nil, for: record.id) { db, _ in try RowState.fetch(record, in: db) }
        }

        var body: some View {
            if let state, let symbol = state.symbol {
                Image(systemName: symbol).accessibilityLabel(state.label)
            }
        }
    }
#endif
