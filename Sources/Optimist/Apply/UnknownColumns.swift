// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Reads and writes `optimist_unknown`: values that newer apps wrote into columns that this app lacks (L1).
///
/// The values wait until a migration adds the column. The device also sends them if the server has lost them (L3) or if
/// this app replaces the row, so that an old app never erases unknown columns.
struct UnknownColumns {
    private let db: Database

    init(_ db: Database) { self.db = db }

    var isEmpty: Bool {
        get throws {
            try Bool.fetchOne(db.cachedStatement(sql: "SELECT NOT EXISTS (SELECT 1 FROM optimist_unknown)")) ?? true
        }
    }

    /// Keeps a received row's values of unknown columns. A later life's values replace an earlier life's. If the server
    /// has forgotten the later life, the earlier life's values replace the later life's.
    ///
    /// - Parameters:
    ///   - present: The row's life on this device.
    ///   - isWhole: Whether the patch is all that the server has of the row.
    func note(_ patch: RowPatch, at ref: RowRef, in layout: TableLayout, present: Int, isWhole: Bool) throws {
        let unknown = patch.values.members.filter { layout[column: $0.key] == nil }
        let former = try stored(ref)
        if unknown.isEmpty, former == nil { return }
        let life = patch.generation ?? 1
        var kept = RowPatch(generation: life)
        if let former, let formerLife = former.generation {
            if formerLife > life, present > life { return }
            if formerLife == life, !isWhole { kept = former }
        }
        for (name, value) in unknown {
            let clock = patch.clocks?[name]
            // Counter sums do not have clocks, so a changed sum may arrive under an equal clock.
            if let clock, let known = kept.clocks?[name], known > clock { continue }
            kept.values[name] = value
            if let clock { kept.clocks = (kept.clocks ?? ColumnClocks()).setting(name, clock) }
        }
        try save(kept, at: ref)
    }

    /// The kept values that are still unknown.
    func patch(at ref: RowRef, in layout: TableLayout) throws -> RowPatch {
        var patch = try stored(ref) ?? RowPatch()
        patch.values = JSONObject(patch.values.members.filter { layout[column: $0.key] == nil })
        return patch
    }

    func forget(_ ref: RowRef, upTo life: Int) throws {
        if let former = try stored(ref)?.generation, former <= life { try forget(ref) }
    }

    func forget(_ ref: RowRef) throws {
        try db.cachedStatement(sql: "DELETE FROM optimist_unknown WHERE tbl = ? AND id = ?")
            .execute(arguments: [ref.table, ref.id])
    }

    /// Removes and returns the kept values that the layout now knows, row by row.
    func takeKnown(_ layout: TableLayout) throws -> [(ref: RowRef, patch: RowPatch)] {
        let rows = try Row.fetchAll(
            db, sql: "SELECT id, row FROM optimist_unknown WHERE tbl = ?", arguments: [layout.number])
        return try rows.compactMap { row in
            guard let patch = Self.patch(row[1]) else { return nil }
            let ref = RowRef(table: layout.number, id: row[0])
            var known = patch
            known.values = JSONObject(patch.values.members.filter { layout[column: $0.key] != nil })
            if known.values.isEmpty { return nil }
            var rest = patch
            rest.values = JSONObject(patch.values.members.filter { layout[column: $0.key] == nil })
            try save(rest, at: ref)
            return (ref, known)
        }
    }

    private func stored(_ ref: RowRef) throws -> RowPatch? {
        try String.fetchOne(
            db.cachedStatement(sql: "SELECT row FROM optimist_unknown WHERE tbl = ? AND id = ?"),
            arguments: [ref.table, ref.id]
        ).flatMap(Self.patch)
    }

    private func save(_ patch: RowPatch, at ref: RowRef) throws {
        if patch.values.isEmpty { return try forget(ref) }
        try db.cachedStatement(
            sql: "INSERT INTO optimist_unknown VALUES (?, ?, ?) ON CONFLICT(tbl, id) DO UPDATE SET row = excluded.row"
        ).execute(arguments: [ref.table, ref.id, JSON.object(patch.json(id: "")).description])
    }

    private static func patch(_ text: String) -> RowPatch? {
        (try? JSON(parsing: text.utf8))?.object.flatMap { RowPatch(json: $0) }
    }
}

extension ColumnClocks {
    fileprivate func setting(_ column: String, _ clock: WriteClock) -> ColumnClocks {
        var clocks = self
        clocks.exceptions[column] = clock
        return clocks
    }
}

extension RowApplication {
    /// Fills new columns with the kept values. If this device has already replaced a row, it sends the values with the
    /// row's new life.
    mutating func applyUnknown(of layout: TableLayout) throws {
        let (table, parked) = (AppTable(layout: layout, db: door.db), ParkedRows(door.db))
        for (ref, patch) in try UnknownColumns(door.db).takeKnown(layout) {
            guard var entry = try door.entries.entry(ref), entry.isAlive else { continue }
            var patch = patch
            let isUnsent = !entry.isKnownToServer || entry.isRestored
            // A page brings the values of the server's present life.
            if entry.wasOnServer, patch.generation != entry.generation { continue }
            patch.generation = entry.generation
            guard try table.contains(ref.id) else {
                // The full row will arrive. If it is parked already, it has only the columns known at that time.
                if try parked.content(of: entry) != nil { try park(patch, of: entry, in: layout, reason: .constraint) }
                continue
            }
            do {
                _ = try apply(ReceivedRow(ref: ref, scope: entry.remote.scope, content: .row(patch)))
            } catch let error as DatabaseError where error.isConstraint {
                try park(patch, of: entry, in: layout, reason: ParkedReason(error))
                continue
            }
            guard isUnsent, let written = try door.entries.entry(ref) else { continue }
            entry.local?.add(layout.mask(of: patch.values))
            if entry.isRestored {
                for column in layout.columns where patch.values[column.name] != nil {
                    entry.local?.stamp(column, as: patch.clocks?[column.name])
                }
            }
            entry.counters = written.counters
            try door.entries.save(entry)
        }
    }

    /// Parks values that a column cannot take now. A full row parked by a page has later values. To a row parked by an
    /// answer or a cascade, which has only the columns known at that time, the new ones are added.
    private func park(_ patch: RowPatch, of entry: RowEntry, in layout: TableLayout, reason: ParkedReason) throws {
        let (ref, parked) = (entry.ref, ParkedRows(door.db))
        var patch = patch
        if let content = try parked.content(of: entry) {
            guard case .row(let waiting) = content, waiting.generation ?? 1 == patch.generation ?? 1 else { return }
            if waiting.seq != nil {
                patch.values = JSONObject(patch.values.members.filter { waiting.values[$0.key] == nil })
                return try parked.replace(
                    with: waiting.taking(patch, in: layout), at: ref, in: entry.remote.scope)
            }
            patch = waiting.taking(patch, in: layout)
        }
        try parked.park(
            ReceivedRow(ref: ref, scope: entry.remote.scope, content: .row(patch)), reason: reason, awaiting: nil)
    }
}
