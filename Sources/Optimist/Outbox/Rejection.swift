// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB
import OptimistCore
public import OptimistWire

/// Something the user wrote that the server will never apply. The store keeps it until the app retries or discards it.
public struct Rejection: Identifiable, Hashable, Sendable {
    /// What the push had asked of the server.
    public enum Kind: String, Sendable {
        /// To create the row.
        case create
        /// To change the row.
        case update
        /// To delete the row.
        case delete
    }

    /// Names the rejection for ``Store/retry(_:with:)`` and ``Store/discard(_:)``. Later rejections have greater
    /// numbers.
    public let id: Int64
    /// The table of the row.
    public let table: String
    /// The row's lower-case UUID.
    public let rowID: String
    /// What the push had asked of the server.
    public let kind: Kind
    /// A word of the protocol, such as `invalidProperties`, `tooLarge` or `forbidden`.
    public let code: String
    /// The column at fault, if it is one. The first of ``columns``.
    public let column: String?
    /// All columns at fault. For a `uniqueViolation`, those whose values another row has.
    public let columns: [String]
    /// For a `uniqueViolation`, the lower-case UUID of the row that has the values, in the same table. Nil if the
    /// server did not say.
    public let winner: String?
    /// A sentence that is safe to show. Never compare it: switch on ``code``.
    public let message: String
    /// What the user wrote, by column. Empty for a delete.
    public let mine: JSONObject
    /// What the server has, by column. Nil: nothing.
    public let server: JSONObject?
    /// When the server's answer arrived, by the device's clock.
    public let at: Date
    /// Pending rows that referred to this one, or that one write with `allOrNothing` made together with it. They were
    /// taken back with it, and come back with it.
    public internal(set) var dependents: [Dependent] = []

    /// A row that shares the fate of a refused one.
    public struct Dependent: Hashable, Sendable {
        /// The table of the row.
        public let table: String
        /// The row's lower-case UUID.
        public let rowID: String
        /// What the row's push had asked of the server.
        public let kind: Kind
        /// What the user wrote.
        public let mine: JSONObject
        /// What the server had when the row was taken back, by column. Nil: nothing, as far as the device knows.
        public let server: JSONObject?
        /// Grows with each row that is taken back, as the rejections' own ids do.
        let number: Int64
    }
}

extension Store {
    /// Returns the rejections, oldest first. Rows that were taken back together are one rejection.
    ///
    /// - Throws: `DatabaseError`.
    public func rejections() async throws -> [Rejection] {
        try await read { db in try RejectionTable(db).all() }
    }

    /// Writes the rejected values once more, its dependents' too, as a new write of the user's, and forgets the rejection.
    ///
    /// - Parameters:
    ///   - id: A ``Rejection/id``.
    ///   - edits: Values in place of the rejected ones, by column.
    /// - Throws: `OptimistError` with code `unknownRejection`, or `unknownColumn` if the table has no column of an edit's
    ///   name; `DatabaseError` if the row cannot be written. The rejection then stays.
    public func retry(_ id: Rejection.ID, with edits: JSONObject = [:]) async throws {
        try await write { db in
            guard let rejection = try RejectionTable(db).all(id).first else { throw Self.unknown(id) }
            try self.requireColumns(of: edits, in: rejection.table)
            var values = rejection.mine
            values.replace(with: edits)
            let refused = Rejection.Dependent(
                table: rejection.table, rowID: rejection.rowID, kind: rejection.kind, mine: values,
                server: rejection.server, number: id)
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
            "The table \(table) has no column \(unknown.joined(separator: ", ")) that syncs. The rejection stays: retry it with columns of the table."
        )
    }

    /// Writes rows together. Those that exchange the values of a unique index need them emptied before.
    private func write(_ rows: [Rejection.Dependent], in db: Database) throws {
        if try db.keepingWhatFits({ for row in rows { try self.write(row, in: db) } }) { return }
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        let present = try rows.filter { $0.kind != .create }.map { row in
            let (table, id) = try place(of: row, in: db)
            return RowRef(table: table.layout.number, id: id)
        }
        let vacancy = try Vacancy(of: present, in: AppTables(layouts, db), db)
        for row in rows { try write(row, in: db) }
        try vacancy.restore()
    }

    private func write(_ row: Rejection.Dependent, in db: Database) throws {
        let (table, id) = try place(of: row, in: db)
        switch row.kind {
        case .delete:
            try table.make(.delete, at: id)
            if db.changesCount == 0 { try deleteUnseen(RowRef(table: table.layout.number, id: id), in: db) }
        case .create: try table.make(.put(row.mine), at: id)
        case .update:
            if try table.contains(id) { return try table.make(.set(row.mine), at: id) }
            // It was deleted meanwhile, and begins a life with all that it was.
            var whole = try waiting(RowRef(table: table.layout.number, id: id), in: db) ?? row.server ?? [:]
            whole.replace(with: row.mine)
            try table.make(.put(whole), at: id)
        }
    }

    /// What the server has of a row that waits to be put. Nil: none does.
    private func waiting(_ ref: RowRef, in db: Database) throws -> JSONObject? {
        guard case .row(let patch)? = try ParkedRows(db).content(ref), patch.seq != nil else { return nil }
        return patch.values
    }

    /// Deletes a row that the server has and that is not here, as no trigger can. So it is until the pages come that undo a
    /// refused deletion.
    private func deleteUnseen(_ ref: RowRef, in db: Database) throws {
        var entries = try RowEntryTable(db)
        let known = try entries.entry(ref)
        guard known?.isAlive != false,
            let marks = try Row.fetchOne(
                db, sql: "SELECT optimist_group(NULL), \(CaptureTriggers.function)(?, ?)",
                arguments: [ref.table, ref.id])
        else { return }
        // If the row's creation was never answered, the device knows nothing of it once its refused deletion is undone.
        var entry = known ?? RowEntry(ref: ref, generation: 1)
        if known == nil { entry.acked = entry.generation }
        entry.endUnseen(group: Stamp(rawValue: marks[0]), stamp: Stamp(rawValue: marks[1]))
        try entries.save(entry)
    }

    private func place(of row: Rejection.Dependent, in db: Database) throws -> (table: AppTable, id: DatabaseValue) {
        guard let layout = layout(named: row.table), let id = layout.idForm.stored(row.rowID) else {
            throw OptimistError(
                .unknownRejection, "The table \(row.table) is not synced any more. The rejection stays.")
        }
        return (AppTable(layout: layout, db: db), id)
    }

    /// Forgets a rejection, and with it what the user wrote.
    ///
    /// - Throws: `OptimistError` with code `unknownRejection`.
    public func discard(_ id: Rejection.ID) async throws {
        try await write { db in
            try RejectionTable(db).remove(id)
            guard db.changesCount > 0 else { throw Self.unknown(id) }
        }
    }

    private static func unknown(_ id: Rejection.ID) -> OptimistError {
        OptimistError(.unknownRejection, "There is no rejection \(id): it was retried or discarded already.")
    }
}

/// Reads and writes `optimist_rejection` within one transaction.
struct RejectionTable {
    let db: Database

    init(_ db: Database) { self.db = db }

    /// Keeps what was refused, in place of an equal refusal: a row that cannot be taken back is refused once more each day, and
    /// the user may do the same again. It has a number of its own, by which a receipt knows that it came later.
    ///
    /// - Parameters:
    ///   - server: What the server has of the row. Nil: nothing, or nothing is known.
    ///   - bundle: The rejection that this row belongs to. Nil: it is one.
    /// - Returns: The rejection's number.
    @discardableResult
    func insert(
        _ ref: RowRef, _ kind: SentRow.Kind, _ refusal: Refusal, mine: JSONObject, server: JSONObject?,
        at milliseconds: Int64, bundle: Int64? = nil
    ) throws -> Int64 {
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
                INSERT INTO optimist_rejection(tbl, id, kind, code, columnName, message, mine, server, at, bundle)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                ref.table, ref.id, kind.rawValue, refusal.code, refusal.column, refusal.message,
                JSON.object(mine).description, server.map { JSON.object($0).description }, milliseconds, bundle,
            ])
        let number = db.lastInsertedRowID
        try CollisionTable(db).insert(refusal, of: number)
        if let present {
            // The rows that the first refusal took back are no longer in the tables.
            try db.execute(
                sql: "UPDATE optimist_rejection SET bundle = ? WHERE bundle = ?", arguments: [number, present])
            try remove(present)
        }
        return number
    }

    /// - Parameter number: Only this one. Nil: all.
    func all(_ number: Int64? = nil) throws -> [Rejection] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT r.number, t.name, r.id, kind, code, columnName, message, mine, server, at, bundle
                FROM optimist_rejection r JOIN optimist_table t ON t.number = r.tbl
                \(number == nil ? "" : "WHERE r.number = ?1 OR r.bundle = ?1")
                ORDER BY coalesce(bundle, r.number), bundle IS NOT NULL, r.number
                """, arguments: number.map { [$0] } ?? [])
        let collisions = try CollisionTable(db).all()
        var rejections: [Rejection] = []
        for row in rows {
            guard let id = UUIDForm.bytes.wire(row[2]), let kind = Rejection.Kind(rawValue: row[3]) else { continue }
            let mine = Self.object(row[7]) ?? [:]
            if let bundle = row[10] as Int64? {
                guard let index = rejections.lastIndex(where: { $0.id == bundle }) else { continue }
                rejections[index].dependents.append(
                    Rejection.Dependent(
                        table: row[1], rowID: id, kind: kind, mine: mine, server: Self.object(row[8]), number: row[0]))
                continue
            }
            let (column, collision) = (row[5] as String?, collisions[row[0]])
            rejections.append(
                Rejection(
                    id: row[0], table: row[1], rowID: id, kind: kind, code: row[4], column: column,
                    columns: collision?.columns ?? [column].compactMap(\.self), winner: collision?.winner,
                    message: row[6], mine: mine, server: Self.object(row[8]),
                    at: Date(timeIntervalSince1970: Double(row[9] as Int64) / 1000)))
        }
        return rejections
    }

    func remove(_ number: Int64) throws {
        try db.execute(
            sql: "DELETE FROM optimist_rejection WHERE number = ?1 OR bundle = ?1", arguments: [number])
    }

    private static func object(_ text: String?) -> JSONObject? {
        text.flatMap { try? JSON(parsing: $0.utf8) }?.object
    }
}
