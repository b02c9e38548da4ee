// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// Reads and writes `optimist_row` within one transaction.
struct RowEntryTable {
    let db: Database
    private var nodes: Nodes

    init(_ db: Database) throws {
        self.db = db
        nodes = try Nodes(in: db)
    }

    private static let columns = """
        key, tbl, id, generation, acked, seq, clock, node, clocks, pending, stamp, stamps, dirty, sent, base, settled, due, \
        blocked
        """

    func entry(_ ref: RowRef) throws -> RowEntry? {
        let statement = try db.cachedStatement(sql: "SELECT \(Self.columns) FROM optimist_row WHERE tbl = ? AND id = ?")
        return try Row.fetchOne(statement, arguments: [ref.table, ref.id]).map(decode)
    }

    /// The pending rows that may be sent now, oldest transaction first.
    func sendable(at milliseconds: Int64, limit: Int) throws -> [RowEntry] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Self.columns) FROM optimist_row
                WHERE pending IS NOT NULL AND (due IS NULL OR due <= ?) ORDER BY pending, key LIMIT ?
                """)
        var entries: [RowEntry] = []
        let rows = try Row.fetchCursor(statement, arguments: [milliseconds, limit])
        while let row = try rows.next() { entries.append(try decode(row)) }
        return entries
    }

    /// Writes an entry. One that says nothing, a row nobody ever confirmed and that is not here, is removed.
    mutating func save(_ entry: RowEntry) throws {
        if entry.generation == 0 {
            try db.cachedStatement(sql: "DELETE FROM optimist_row WHERE tbl = ? AND id = ?")
                .execute(arguments: [entry.ref.table, entry.ref.id])
            return
        }
        let values = try encode(entry)
        if let key = entry.key {
            try db.cachedStatement(
                sql: """
                    UPDATE optimist_row SET generation = ?, acked = ?, seq = ?, clock = ?, node = ?, clocks = ?, pending = ?,
                    stamp = ?, stamps = ?, dirty = ?, sent = ?, base = ?, settled = ?, due = ?, blocked = ? WHERE key = ?
                    """
            ).execute(arguments: StatementArguments(values + [key.databaseValue]))
        } else {
            try db.cachedStatement(
                sql: """
                    INSERT INTO optimist_row(generation, acked, seq, clock, node, clocks, pending, stamp, stamps, dirty, sent,
                    base, settled, due, blocked, tbl, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """
            ).execute(arguments: StatementArguments(values + [entry.ref.table.databaseValue, entry.ref.id]))
        }
    }

    // MARK: - Coding

    private func decode(_ row: Row) throws -> RowEntry {
        var entry = RowEntry(ref: RowRef(table: row[1], id: row[2]), generation: row[3])
        entry.key = row[0]
        entry.acked = row[4]
        entry.seq = row[5]
        let stamp: Int64 = row[6]
        if stamp != 0 { entry.confirmed.common = Clock(stamp: Stamp(rawValue: stamp), device: try nodes.device(row[7])) }
        if let text: String = row[8] { entry.confirmed.exceptions = try Self.clocks(text) }
        entry.pending = (row[9] as Int64?).map(Stamp.init(rawValue:))
        entry.stamp = (row[10] as Int64?).map(Stamp.init(rawValue:))
        if let text: String = row[11] { entry.stamps = try Self.stamps(text) }
        entry.dirty = row[12]
        entry.sent = row[13]
        if let text: String = row[14] { entry.base = try Self.literals(text) }
        entry.settled = row[15]
        entry.due = row[16]
        entry.blocked = row[17]
        return entry
    }

    private mutating func encode(_ entry: RowEntry) throws -> [DatabaseValue] {
        let common = entry.confirmed.common
        let clocks = ColumnClocks(common: nil, exceptions: entry.confirmed.exceptions)
        let stamps = JSONObject(entry.stamps.sorted { $0.key < $1.key }.map { ($0.key, .int($0.value.rawValue)) })
        let base = JSONObject(entry.base.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
        return [
            Int64(entry.generation).databaseValue, Int64(entry.acked).databaseValue, entry.seq.databaseValue,
            (common?.stamp.rawValue ?? 0).databaseValue,
            try common.map { try nodes.number(of: $0.device) }?.databaseValue ?? Int64(0).databaseValue,
            clocks.exceptions.isEmpty ? .null : clocks.json.description.databaseValue,
            entry.pending?.rawValue.databaseValue ?? .null, entry.stamp?.rawValue.databaseValue ?? .null,
            stamps.isEmpty ? .null : JSON.object(stamps).description.databaseValue,
            entry.dirty.databaseValue, entry.sent.databaseValue,
            base.isEmpty ? .null : JSON.object(base).description.databaseValue,
            entry.settled.databaseValue, entry.due?.databaseValue ?? .null, entry.blocked?.databaseValue ?? .null,
        ]
    }

    private static func clocks(_ text: String) throws -> [String: Clock] {
        guard let json = try? JSON(parsing: text.utf8), let clocks = ColumnClocks(json: json) else { throw damaged }
        return clocks.exceptions
    }

    private static func stamps(_ text: String) throws -> [String: Stamp] {
        guard let members = (try? JSON(parsing: text.utf8))?.object else { throw damaged }
        return try Dictionary(uniqueKeysWithValues: members.compactMap { name, value in
            if value.isNull { return nil }
            guard let stamp = value.int else { throw damaged }
            return (name, Stamp(rawValue: stamp))
        })
    }

    private static func literals(_ text: String) throws -> [String: String] {
        guard let members = (try? JSON(parsing: text.utf8))?.object else { throw damaged }
        return try Dictionary(uniqueKeysWithValues: members.map { name, value in
            guard let literal = value.string else { throw damaged }
            return (name, literal)
        })
    }

    private static var damaged: OptimistError {
        OptimistError(
            .damagedMetadata, "The record of unsent changes cannot be read. Nothing was deleted; please report this file.")
    }
}

/// The devices whose clocks rows carry, by number: a row's clock then takes nine bytes and not thirty.
private struct Nodes {
    private let db: Database
    private var devices: [Int64: String]
    private var numbers: [String: Int64]

    init(in db: Database) throws {
        self.db = db
        let rows = try Row.fetchAll(db.cachedStatement(sql: "SELECT number, device FROM optimist_node"))
        devices = Dictionary(rows.map { ($0[0] as Int64, $0[1] as String) }, uniquingKeysWith: { $1 })
        numbers = Dictionary(rows.map { ($0[1] as String, $0[0] as Int64) }, uniquingKeysWith: { $1 })
    }

    func device(_ number: Int64) throws -> String {
        guard let device = devices[number] else {
            throw OptimistError(.damagedMetadata, "A clock names a device that is not listed. Nothing was deleted.")
        }
        return device
    }

    mutating func number(of device: String) throws -> Int64 {
        if let number = numbers[device] { return number }
        try db.execute(sql: "INSERT INTO optimist_node(device) VALUES (?)", arguments: [device])
        let number = db.lastInsertedRowID
        devices[number] = device
        numbers[device] = number
        return number
    }
}

extension [UInt8] {
    /// The bytes as SQLite stores them.
    var blobValue: DatabaseValue { Data(self).databaseValue }
}
