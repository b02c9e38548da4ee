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
    /// The row as the server has it, as far as is known. Nil: nothing is.
    var server: JSONObject?

    /// The values that are as the server has them again. Nil: the row goes, or nothing is done to it.
    var restored: JSONObject? {
        switch change {
        case .put(let values), .set(let values): values
        case .none, .delete: nil
        }
    }

    /// Whether the server has, or may have, a row that is not here then, so that it is received again: the server does
    /// not say what it has of a row that was deleted here, or nothing was here of the life below the one that goes.
    var isUnknown: Bool {
        if kind == .delete, change == .none { return entry.isAlive || !before.isKnownToServer }
        return change == .delete && entry.isAlive
    }
}

extension ReferenceGraph {
    /// The order in which rows are taken back. Rows that stay come first, parents before children, so that no cascade
    /// takes them with a row that goes. Then rows that go, children before parents.
    ///
    /// - Parameter rows: Within a table, what refers to another one comes after that, as far as is known.
    func order(_ rows: [TakenBack]) -> [TakenBack] {
        let ranked = rows.enumerated().map { (rank: (ranks[$1.entry.ref.table] ?? 0, $0), row: $1) }
        let removed = ranked.filter { $0.row.change == .delete }.sorted { $0.rank > $1.rank }
        let restored = ranked.filter { $0.row.change != .delete }.sorted { $0.rank < $1.rank }
        return (restored + removed).map(\.row)
    }
}
