// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
public import OptimistWire

extension Store {
    /// Writes the rejected values again, including the rejection's dependents, as a new write of the user, and forgets
    /// the rejection.
    ///
    /// - Parameters:
    ///   - rejection: A rejection of this store.
    ///   - edits: Values that replace rejected ones, by column. Default: none.
    /// - Throws: `OptimistError` with code `unknownRejection` if the rejection was retried or discarded already, or
    ///   `unknownColumn` if the table lacks a column of the edits; `DatabaseError` if the row cannot be written;
    ///   otherwise as ``Store/write(allOrNothing:_:)``. After an error, the rejection stays.
    public func retry(_ rejection: Rejection, with edits: JSONObject = [:]) async throws {
        let id = rejection.id
        try await write { db in
            guard let rejection = try RejectionTable(db).all(id).first else { throw Self.unknown(id) }
            try self.requireColumns(of: edits, in: rejection.table)
            var values = rejection.mine
            values.replace(with: edits)
            let refused = Rejection.Dependent(
                table: rejection.table, rowID: rejection.rowID, kind: rejection.kind, mine: values,
                theirs: rejection.theirs, number: id)
            try self.write([refused] + rejection.dependents, in: db)
            try RejectionTable(db).remove(id)
        }
    }

    private func requireColumns(of edits: JSONObject, in table: String) throws {
        guard let layout = layout(named: table) else { return }
        let unknown = edits.members.map(\.key).filter { layout[column: $0] == nil }
        if unknown.isEmpty { return }
        throw OptimistError(
            .unknownColumn,
            "The table \(table) does not sync \(unknown.joined(separator: ", ")). The rejection stays. Retry it with synced columns."
        )
    }

    /// Rows that exchange unique values are written with those values emptied first.
    private func write(_ rows: [Rejection.Dependent], in db: Database) throws {
        var door = try Door(layouts, db, at: milliseconds)
        let work = { (door: inout Door) in for row in rows { try self.write(row, &door) } }
        if try door.attempt(deferring: true, work) == nil { return }
        let present = try rows.filter { $0.kind != .create }.map { try place(of: $0, in: door.tables).ref }
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        try door.exchanging(present, work)
    }

    private func write(_ row: Rejection.Dependent, _ door: inout Door) throws {
        let (table, ref) = try place(of: row, in: door.tables)
        switch row.kind {
        case .delete:
            try table.delete(ref.id)
            if door.db.changesCount == 0 { try deleteUnseen(ref, &door) }
        case .create: try table.put(row.mine, at: ref.id)
        case .update:
            if try table.contains(ref.id) { return try table.set(row.mine, at: ref.id) }
            // The row has since been deleted. It begins a new life with all its former values.
            var whole = try waiting(ref, in: door.db) ?? row.theirs ?? [:]
            whole.replace(with: row.mine)
            try table.put(whole, at: ref.id)
        }
    }

    private func waiting(_ ref: RowRef, in db: Database) throws -> JSONObject? {
        guard case .row(let patch)? = try ParkedRows(db).content(ref), patch.seq != nil else { return nil }
        return patch.values
    }

    /// Deletes a row that the server has and this device lacks: its refused deletion was undone, and no page has
    /// returned the row yet. A trigger cannot capture this deletion.
    private func deleteUnseen(_ ref: RowRef, _ door: inout Door) throws {
        let known = try door.entries.entry(ref)
        guard known?.isAlive != false,
            let marks = try Row.fetchOne(
                door.db, sql: "SELECT optimist_group(NULL), \(CaptureTriggers.function)(?, ?)",
                arguments: [ref.table, ref.id])
        else { return }
        // A row whose creation was never answered has no entry after its refused deletion is undone.
        var entry = known ?? RowEntry(ref: ref, generation: 1)
        if known == nil { entry.remote.goBack(to: entry.generation) }
        entry.endUnseen(group: Stamp(rawValue: marks[0]), stamp: Stamp(rawValue: marks[1]))
        try door.entries.save(entry)
    }

    private func place(of row: Rejection.Dependent, in tables: AppTables) throws -> (table: AppTable, ref: RowRef) {
        guard let table = tables[row.table], let id = table.layout.idForm.stored(row.rowID) else {
            throw OptimistError(
                .unknownRejection, "The table \(row.table) is no longer synced. The rejection stays.")
        }
        return (table, RowRef(table: table.layout.number, id: id))
    }
}
