// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// A pending row that returns to the server's version.
struct TakenBack {
    let passage: Passage
    let kind: SentRow.Kind
    /// The user's values.
    let mine: JSONObject
    /// The server's row, as far as it is known.
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

    /// Takes back all unsent changes of a row. Nil if they cannot be undone.
    ///
    /// - Parameters:
    ///   - current: The server's row, if an answer reports it.
    ///   - isLost: Whether to include a row that the server had and lost.
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

    var restored: JSONObject? {
        switch change {
        case .put(let values), .set(let values): values
        case .none, .delete: nil
        }
    }

    /// Whether the server has, or may have, a row that this device lacks afterwards. Either the user deleted the row
    /// and the server did not report it, or the app's table has nothing of the life before the removed one.
    var mustBeReceived: Bool {
        if kind == .delete, change == .none { return entry.isAlive || !before.isKnownToServer }
        return change == .delete && entry.isAlive
    }
}

extension ReferenceGraph {
    /// Orders the rows: first the rows that stay, parents before children, so that no cascade deletes them, then the
    /// removed rows, children before parents.
    ///
    /// - Parameter rows: Within a table, each after the rows that it refers to, as far as is known.
    func order(_ rows: [TakenBack]) -> [TakenBack] {
        let ranked = rows.enumerated().map { (rank: (ranks[$1.ref.table] ?? 0, $0), row: $1) }
        let removed = ranked.filter { $0.row.change == .delete }.sorted { $0.rank > $1.rank }
        let restored = ranked.filter { $0.row.change != .delete }.sorted { $0.rank < $1.rank }
        return (restored + removed).map(\.row)
    }
}
