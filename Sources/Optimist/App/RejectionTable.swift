// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire

/// Access to `optimist_rejection` within one transaction.
struct RejectionTable {
    let db: Database

    init(_ db: Database) { self.db = db }

    /// Stores a refusal in place of an equal earlier one: once a day, the engine resends a row that it cannot take
    /// back, and the user may repeat a write. The refusal gets a new number, so that receipts recognise it as later.
    ///
    /// - Parameters:
    ///   - server: The server's values. Nil if the server does not have the row, or if they are unknown.
    ///   - bundle: The rejection that this row was taken back with. Nil for the refused row itself.
    @discardableResult
    func insert(
        _ ref: RowRef, _ kind: SentRow.Kind, _ refusal: RemotePush.Refusal, mine: JSONObject, server: JSONObject?,
        at milliseconds: Int64, bundle: Int64? = nil
    ) throws -> Int64 {
        // A move is an edit.
        let kind = kind == .move ? .update : kind
        let present = try Int64.fetchOne(
            db,
            sql: """
                SELECT number FROM optimist_rejection
                WHERE tbl = ? AND id = ? AND kind = ? AND code = ? AND mine = ? AND bundle IS ?
                """,
            arguments: [
                ref.table, ref.id, kind.rawValue, refusal.code, JSON.object(mine).description, bundle,
            ])
        try db.execute(
            sql: """
                INSERT INTO optimist_rejection(tbl, id, kind, code, columnName, message, mine, server, at, bundle, columns,
                winner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                ref.table, ref.id, kind.rawValue, refusal.code, refusal.column, refusal.message,
                JSON.object(mine).description, server.map { JSON.object($0).description }, milliseconds, bundle,
                refusal.columns.count < 2 ? nil : JSON.array(refusal.columns.map(JSON.string)).description,
                refusal.winner,
            ])
        let number = db.lastInsertedRowID
        if let present {
            // The rows that the earlier refusal took back are no longer in the tables, so keep their values.
            try db.execute(
                sql: "UPDATE optimist_rejection SET bundle = ? WHERE bundle = ?", arguments: [number, present])
            try remove(present)
        }
        return number
    }

    func all(_ number: Int64? = nil) throws -> [Rejection] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT r.number, t.name, r.id, kind, code, columnName, message, mine, server, at, bundle, columns,
                winner FROM optimist_rejection r JOIN optimist_table t ON t.number = r.tbl
                \(number == nil ? "" : "WHERE r.number = ?1 OR r.bundle = ?1")
                ORDER BY coalesce(bundle, r.number), bundle IS NOT NULL, r.number
                """, arguments: number.map { [$0] } ?? [])
        var rejections: [Rejection] = []
        for row in rows {
            guard let id = UUIDForm.bytes.wire(row[2]), let kind = Rejection.Kind(rawValue: row[3]) else { continue }
            let mine = Self.object(row[7]) ?? [:]
            if let bundle = row[10] as Int64? {
                guard let index = rejections.lastIndex(where: { $0.id == bundle }) else { continue }
                rejections[index].dependents.append(
                    Rejection.Dependent(
                        table: row[1], rowID: id, kind: kind, mine: mine, theirs: Self.object(row[8]), number: row[0]))
                continue
            }
            let column: String? = row[5]
            rejections.append(
                Rejection(
                    id: row[0], table: row[1], rowID: id, kind: kind, code: row[4], column: column,
                    columns: Self.columns(row[11]) ?? [column].compactMap(\.self), conflictingRowID: row[12],
                    message: row[6], mine: mine, theirs: Self.object(row[8]),
                    date: Date(timeIntervalSince1970: Double(row[9] as Int64) / 1000)))
        }
        return rejections
    }

    func rename(_ former: String, to name: String, ofTable number: Int64) throws {
        try db.execute(
            sql: """
                UPDATE optimist_rejection SET columnName = iif(columnName = ?1, ?2, columnName), columns = iif(columns IS NULL,
                NULL, (SELECT json_group_array(iif(c.value = ?1, ?2, c.value)) FROM json_each(columns) c)) WHERE tbl = ?3
                """, arguments: [former, name, number])
    }

    func remove(_ number: Int64) throws {
        try db.execute(
            sql: "DELETE FROM optimist_rejection WHERE number = ?1 OR bundle = ?1", arguments: [number])
    }

    private static func columns(_ text: String?) -> [String]? {
        text.flatMap { try? JSON(parsing: $0.utf8) }?.array?.compactMap(\.string)
    }

    private static func object(_ text: String?) -> JSONObject? {
        text.flatMap { try? JSON(parsing: $0.utf8) }?.object
    }
}
