// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// A pending row that returns to the server's version.
struct TakenBack {
    let passage: Passage
    let kind: SentRow.Kind
    /// What the user had written.
    let mine: JSONObject
    /// The row as the server has it, as far as that is known. Nil if nothing is known.
    var server: JSONObject?

    var ref: RowRef { passage.ref }
    var entry: RowEntry { passage.entry }
    var before: RowEntry { passage.before }
    var change: RowChange { passage.rendering.change }

    init(_ passage: Passage, kind: SentRow.Kind, mine: JSONObject) {
        var passage = passage
        passage.deletion = .takenBack
        self.passage = passage
        self.kind = kind
        self.mine = mine
    }

    /// Takes back everything unsent of a row. Nil: it cannot be undone.
    ///
    /// - Parameters:
    ///   - current: The row as the server has it, if an answer says so.
    ///   - isLost: Whether to take back even a row that the server had and has lost.
    init?(_ before: RowEntry, current: RowPatch? = nil, isLost: Bool = false, in door: Door) throws {
        guard let table = door.tables[before.ref.table] else { return nil }
        var entry = before
        let values = try table.values(before.ref.id) ?? [:]
        guard let taken = entry.takeBack(values, current: current, isLost: isLost, in: table.layout) else { return nil }
        let passage = Passage(before: before, entry: entry, rendering: taken.rendering)
        self.init(passage, kind: taken.kind, mine: taken.mine)
        guard case .set(let restored) = change else { return }
        server = values
        server?.replace(with: restored)
    }

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
    var mustBeReceived: Bool {
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
        let ranked = rows.enumerated().map { (rank: (ranks[$1.ref.table] ?? 0, $0), row: $1) }
        let removed = ranked.filter { $0.row.change == .delete }.sorted { $0.rank > $1.rank }
        let restored = ranked.filter { $0.row.change != .delete }.sorted { $0.rank < $1.rank }
        return (restored + removed).map(\.row)
    }
}
