// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// Reads and writes `optimist_row` within one transaction.
struct RowEntryTable {
    let db: Database
    private var nodes: Nodes
    private let counters: CounterTable
    private let finding: RowStatement
    private let updating: RowStatement
    private let inserting: RowStatement
    private var fresh: FreshEntries

    init(_ db: Database) throws {
        self.db = db
        nodes = try Nodes(in: db)
        counters = try CounterTable(db)
        finding = try RowStatement("SELECT \(Self.columns) FROM optimist_row WHERE tbl = ? AND id = ?", in: db)
        updating = try RowStatement(
            """
            UPDATE optimist_row SET generation = ?, acked = ?, seq = ?, clock = ?, node = ?, clocks = ?, pending = ?,
            stamp = ?, stamps = ?, dirty = ?, sent = ?, base = ?, settled = ?, due = ?, blocked = ?, known = ?,
            healing = ?, retries = ? WHERE key = ?
            """, in: db)
        inserting = try RowStatement(
            """
            INSERT INTO optimist_row(generation, acked, seq, clock, node, clocks, pending, stamp, stamps, dirty, sent,
            base, settled, due, blocked, known, healing, retries, tbl, id)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, in: db)
        fresh = try FreshEntries(db)
    }

    static let columns = """
        key, tbl, id, generation, acked, seq, clock, node, clocks, pending, stamp, stamps, dirty, sent, base, settled, due, \
        blocked, known, healing, retries
        """

    func entry(_ ref: RowRef) throws -> RowEntry? {
        try finding.first([ref.table.databaseValue, ref.id], decode).map(counting)
    }

    /// An entry with its counters, which are kept in a table of their own.
    func counting(_ entry: RowEntry) throws -> RowEntry {
        var entry = entry
        entry.counters = try counters.counters(of: entry.ref)
        return entry
    }

    /// Writes an entry. Removes it if it says nothing: the server never confirmed the row, and the row is not here.
    mutating func save(_ entry: RowEntry) throws {
        if entry.generation == 0 { return try forget(entry.ref) }
        try counters.save(entry.counters, of: entry.ref)
        let values = try encode(entry)
        if let key = entry.key {
            try updating.execute(values + [key.databaseValue])
        } else {
            try inserting.execute(values + [entry.ref.table.databaseValue, entry.ref.id])
        }
    }

    /// Whether nothing is known of the rows from one id to another, both included.
    func isEmpty(_ table: Int64, from first: DatabaseValue, to last: DatabaseValue) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT NOT EXISTS (SELECT 1 FROM optimist_row WHERE tbl = ? AND id BETWEEN ? AND ?)"),
            arguments: [table, first, last]) ?? false
    }

    /// Adds the entry of a row that the device did not know, as the server has it. It is there after ``writeFresh()``.
    mutating func addFresh(_ ref: RowRef, _ patch: RowPatch, in layout: TableLayout) throws {
        let common = patch.clocks?.common
        let generation = Int64(patch.generation ?? 1).databaseValue
        fresh.add([
            ref.table.databaseValue, ref.id, generation, generation, (patch.seq ?? 0).databaseValue,
            (common?.stamp.rawValue ?? 0).databaseValue,
            try common.map { try nodes.number(of: $0.device) }?.databaseValue ?? Int64(0).databaseValue,
            Self.text(patch.clocks?.exceptions ?? [:]) { .string($0.description) },
            layout.mask(of: patch.values).databaseValue,
        ])
    }

    /// Writes what was added. Nothing may ask for entries before then.
    mutating func writeFresh() throws { try fresh.write() }

    /// Removes what is known of a row.
    mutating func forget(_ ref: RowRef) throws {
        try db.cachedStatement(sql: "DELETE FROM optimist_row WHERE tbl = ? AND id = ?")
            .execute(arguments: [ref.table, ref.id])
        try counters.save([:], of: ref)
    }

    // MARK: - Coding

    func decode(_ row: RowColumns) throws -> RowEntry {
        var entry = RowEntry(ref: RowRef(table: row.int(1), id: row.value(2)), generation: Int(row.int(3)))
        entry.key = row.int(0)
        entry.acked = Int(row.int(4))
        entry.seq = row.int(5)
        let stamp = row.int(6)
        if stamp != 0 {
            entry.confirmed.common = Clock(stamp: Stamp(rawValue: stamp), device: try nodes.device(row.int(7)))
        }
        if let text = row.text(8) { entry.confirmed.exceptions = try Self.clocks(text) }
        entry.pending = row.optionalInt(9).map(Stamp.init(rawValue:))
        entry.stamp = row.optionalInt(10).map(Stamp.init(rawValue:))
        if let text = row.text(11) { entry.stamps = try Self.stamps(text) }
        entry.dirty = row.int(12)
        entry.sent = row.int(13)
        if let text = row.text(14) { entry.base = try Self.literals(text) }
        entry.settled = row.int(15)
        entry.due = row.optionalInt(16)
        entry.blocked = row.text(17)
        entry.known = row.int(18)
        entry.isHealing = row.int(19) != 0
        entry.retries = Int(row.int(20))
        return entry
    }

    private mutating func encode(_ entry: RowEntry) throws -> [DatabaseValue] {
        let common = entry.confirmed.common
        return [
            Int64(entry.generation).databaseValue, Int64(entry.acked).databaseValue, entry.seq.databaseValue,
            (common?.stamp.rawValue ?? 0).databaseValue,
            try common.map { try nodes.number(of: $0.device) }?.databaseValue ?? Int64(0).databaseValue,
            Self.text(entry.confirmed.exceptions) { .string($0.description) },
            entry.pending?.rawValue.databaseValue ?? .null, entry.stamp?.rawValue.databaseValue ?? .null,
            Self.text(entry.stamps) { .int($0.rawValue) },
            entry.dirty.databaseValue, entry.sent.databaseValue,
            Self.text(entry.base) { .string($0) },
            entry.settled.databaseValue, entry.due?.databaseValue ?? .null, entry.blocked?.databaseValue ?? .null,
            entry.known.databaseValue, Int64(entry.isHealing ? 1 : 0).databaseValue,
            Int64(entry.retries).databaseValue,
        ]
    }

    /// The values of some columns as a JSON object. Null if there are no values.
    private static func text<Value>(_ values: [String: Value], _ json: (Value) -> JSON) -> DatabaseValue {
        if values.isEmpty { return .null }
        let members = values.sorted { $0.key < $1.key }.map { ($0.key, json($0.value)) }
        return JSON.object(JSONObject(members)).description.databaseValue
    }

    private static func clocks(_ text: String) throws -> [String: Clock] {
        guard let json = try? JSON(parsing: text.utf8), let clocks = ColumnClocks(json: json) else { throw damaged }
        return clocks.exceptions
    }

    private static func stamps(_ text: String) throws -> [String: Stamp] {
        guard let members = (try? JSON(parsing: text.utf8))?.object else { throw damaged }
        return try Dictionary(
            uniqueKeysWithValues: members.compactMap { name, value in
                if value.isNull { return nil }
                guard let stamp = value.int else { throw damaged }
                return (name, Stamp(rawValue: stamp))
            })
    }

    private static func literals(_ text: String) throws -> [String: String] {
        guard let members = (try? JSON(parsing: text.utf8))?.object else { throw damaged }
        return try Dictionary(
            uniqueKeysWithValues: members.map { name, value in
                guard let literal = value.string else { throw damaged }
                return (name, literal)
            })
    }

    private static var damaged: OptimistError {
        OptimistError(
            .damagedMetadata,
            "The record of unsent changes cannot be read. Nothing was deleted; please report this file.")
    }
}

extension [UInt8] {
    /// The bytes as SQLite stores them.
    var blobValue: DatabaseValue { Data(self).databaseValue }
}
