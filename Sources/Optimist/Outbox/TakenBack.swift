// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// A pending row that goes back to what the server has: its entry before and after, and what that does to the app's table.
struct TakenBack {
    let entry: RowEntry
    let before: RowEntry
    let kind: SentRow.Kind
    let change: RowChange
    /// What the user had written.
    let mine: JSONObject
}

extension ReferenceGraph {
    /// The order in which rows are taken back: what stays first, parents before children, so that no cascade of what goes
    /// takes it along; then what goes, children before parents.
    func order(_ rows: [TakenBack]) -> [TakenBack] {
        func rank(_ row: TakenBack) -> Int { ranks[row.entry.ref.table] ?? 0 }
        let removed = rows.filter { $0.change == .delete }.sorted { rank($0) > rank($1) }
        let restored = rows.filter { $0.change != .delete }.sorted { rank($0) < rank($1) }
        return restored + removed
    }
}
