// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// A pending row that returns to the server's version: its entry before and after, and the change to the app's table.
struct TakenBack {
    let entry: RowEntry
    let before: RowEntry
    let kind: SentRow.Kind
    let change: RowChange
    /// What the user had written.
    let mine: JSONObject
    /// The row as the server has it, as far as that is known. Nil if nothing is known.
    var server: JSONObject?

    /// The values that return to the server's version. Nil if the row is removed or not changed.
    var restored: JSONObject? {
        switch change {
        case .put(let values), .set(let values): values
        case .none, .delete: nil
        }
    }

    /// Whether the server has, or may have, a row that is not on this device afterwards, so that the device must receive it
    /// again. Either the row was deleted here and the server does not say what it has, or this device has nothing of the life
    /// before the one that is removed.
    var isUnknown: Bool {
        if kind == .delete, change == .none { return entry.isAlive || !before.isKnownToServer }
        return change == .delete && entry.isAlive
    }
}

extension ReferenceGraph {
    /// The order in which rows are taken back. Rows that stay come first, parents before children, so that no cascade deletes
    /// them with a row that is removed. Rows that are removed follow, children before parents.
    ///
    /// - Parameter rows: Within a table, each row comes after the rows that it refers to, as far as is known.
    func order(_ rows: [TakenBack]) -> [TakenBack] {
        let ranked = rows.enumerated().map { (rank: (ranks[$1.entry.ref.table] ?? 0, $0), row: $1) }
        let removed = ranked.filter { $0.row.change == .delete }.sorted { $0.rank > $1.rank }
        let restored = ranked.filter { $0.row.change != .delete }.sorted { $0.rank < $1.rank }
        return (restored + removed).map(\.row)
    }
}
