// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

extension Rejection {
    /// The row as the user wrote it.
    ///
    /// Other columns have the server's values or, if the server did not send them, the store's current values.
    ///
    /// - Returns: Nil if the row is in another table, or if the user deleted it.
    /// - Throws: `OptimistError` with code `invalidTable` if the values do not form a record; `DatabaseError`.
    public func mine<Record: SyncedRecord>(as type: Record.Type, in store: Store) async throws -> Record? {
        if kind == .delete { return nil }
        return try await store.record(type, of: table, rowID, [theirs ?? [:], mine])
    }

    /// The row as the server has it.
    ///
    /// - Returns: Nil if the row is in another table, or if the server has no row or did not send it.
    /// - Throws: As ``mine(as:in:)``.
    public func theirs<Record: SyncedRecord>(as type: Record.Type, in store: Store) async throws -> Record? {
        guard let theirs else { return nil }
        return try await store.record(type, of: table, rowID, [theirs])
    }
}

extension Conflict {
    /// The row as the user wrote it. Other columns have the store's current values.
    ///
    /// - Returns: Nil if the row is in another table, or if the values do not form a record, for example because the row
    ///   is gone. ``Store/restore(_:)`` can then still recreate the row with all its values.
    /// - Throws: `DatabaseError`.
    public func mine<Record: SyncedRecord>(as type: Record.Type, in store: Store) async throws -> Record? {
        do { return try await store.record(type, of: table, rowID, [mine]) } catch let error as OptimistError {
            guard error.code == .invalidTable else { throw error }
            return nil
        }
    }

    /// The row with the values that replaced the user's.
    ///
    /// - Returns: Nil if the row is in another table, or if it was gone.
    /// - Throws: `OptimistError` with code `invalidTable` if the values do not form a record; `DatabaseError`.
    public func theirs<Record: SyncedRecord>(as type: Record.Type, in store: Store) async throws -> Record? {
        guard let theirs else { return nil }
        return try await store.record(type, of: table, rowID, [theirs])
    }
}

extension Store {
    /// Writes a rejected row again with a record's values, as a new user edit, and forgets the rejection.
    ///
    /// This writes the columns of the refused edit, and other columns that differ from ``Rejection/mine(as:in:)``. If
    /// the refusal included the server's values, columns that the server changed after the app read the record keep
    /// those values. Dependents keep their own values. Counters ignore the record: the refused counts are added again.
    ///
    /// If the server refused a deletion, ``retry(_:with:)-(_,JSONObject)`` deletes the row again. To keep the row,
    /// discard the rejection and write the record.
    ///
    /// - Parameters:
    ///   - rejection: The rejection to retry.
    ///   - record: The row to write, for example ``Rejection/mine(as:in:)`` with another value.
    /// - Throws: `OptimistError` with code `refusedDeletion` if the server refused a deletion, or `invalidTable` if the
    ///   record is a different row; otherwise as ``retry(_:with:)-(_,JSONObject)``. After an error, the rejection
    ///   stays.
    public func retry<Record: SyncedRecord>(_ rejection: Rejection, with record: Record) async throws {
        let columns = try record.databaseDictionary
        guard Record.databaseTableName == rejection.table, let layout = layout(named: rejection.table),
            let id = columns["id"], layout.idForm.wire(id) == rejection.rowID
        else {
            throw OptimistError(
                .invalidTable,
                "The record belongs to a different row. Retry with the row \(rejection.rowID) of \(rejection.table)."
            )
        }
        guard rejection.kind != .delete else { throw OptimistError.refusedDeletion }
        let shown = try await values(of: layout, id, [rejection.theirs ?? [:], rejection.mine])
        let values = layout.columns.compactMap { column -> JSONObject.Member? in
            guard !column.isCounter, let value = columns[column.name].map(column.form.wire) else { return nil }
            let isSame =
                shown[column.name].map { column.form.stored($0).isSame(as: column.form.stored(value)) } ?? false
            return isSame && rejection.mine[column.name] == nil ? nil : (column.name, value)
        }
        try await retry(rejection, with: JSONObject(values))
    }

    /// A record with the row's values in the app's table, overlaid with `changes` in order. Nil if the record is in
    /// another table.
    fileprivate func record<Record: SyncedRecord>(
        _ type: Record.Type, of table: String, _ rowID: String, _ changes: [JSONObject]
    ) async throws -> Record? {
        guard Record.databaseTableName == table, let layout = layout(named: table), let id = layout.idForm.stored(rowID)
        else { return nil }
        let values = try await values(of: layout, id, changes)
        // A hand-written `init(row:)` crashes if a column is missing, or on an unexpected NULL.
        let missing = layout.columns.filter { values[$0.name] == nil && !$0.isNullable }.map(\.name)
        guard missing.isEmpty else { throw OptimistError.unknownValues(of: missing, rowID, table, nil) }
        var row: [String: (any DatabaseValueConvertible)?] = ["id": id]
        for column in layout.columns { row[column.name] = column.form.stored(values[column.name] ?? .null) }
        do { return try Record(row: Row(row)) } catch {
            throw OptimistError.unknownValues(of: [], rowID, table, error)
        }
    }

    private func values(of layout: TableLayout, _ id: DatabaseValue, _ changes: [JSONObject]) async throws -> JSONObject
    {
        var values = try await read { try AppTable(layout: layout, db: $0).values(id) ?? [:] }
        for change in changes { values.replace(with: change.counted(onto: values, in: layout)) }
        return values
    }
}

extension OptimistError {
    fileprivate static let refusedDeletion = OptimistError(
        .refusedDeletion,
        "The server refused a deletion, so a record cannot be written again. To keep the row, discard the rejection.")

    fileprivate static func unknownValues(
        of columns: [String], _ rowID: String, _ table: String, _ cause: (any Error)?
    ) -> OptimistError {
        let names = columns.isEmpty ? "" : " (\(columns.joined(separator: ", ")))"
        return OptimistError(
            .invalidTable,
            "Some values of the row \(rowID) of \(table) are unknown\(names), so it cannot become a record.",
            cause: cause)
    }
}

extension JSONObject {
    /// Replaces each counter change by a sum: the count in `other` plus the amount added.
    fileprivate func counted(onto other: JSONObject, in layout: TableLayout) -> JSONObject {
        JSONObject(
            members.map { member in
                guard layout[column: member.key]?.isCounter == true, let added = CounterChange.added(member.value)
                else { return (member.key, member.value) }
                return (member.key, .int((other[member.key]?.int ?? 0) &+ added))
            })
    }
}
