// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(SwiftUI)
    public import Optimist
    public import SwiftUI

    extension View {
        /// Shows a small symbol at the end of a row that is pending, refused or waiting. A synced row shows no symbol.
        ///
        /// Assistive technologies read the state aloud.
        ///
        /// - Parameter record: Any version of the row: only its table and id are used.
        public func syncBadge<Record: SyncedRecord & Identifiable>(of record: Record) -> some View
        where Record.ID: Hashable & Sendable {
            HStack {
                self
                Spacer()
                SyncBadge(record)
            }
        }
    }

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
