// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistWire

struct RowName: Hashable, Comparable, CustomStringConvertible {
    var table: String
    /// In hexadecimal digits.
    var id: String

    var description: String { "\(table):\(id.suffix(2))" }

    static func < (a: Self, b: Self) -> Bool { (a.table, a.id) < (b.table, b.id) }
}

/// Values by column, as text. Nil is null.
typealias Values = [String: String?]

/// A value that a column of a row had.
struct Cell: Hashable {
    let row: RowName
    let column: String
    let value: String?

    /// Whether the value is a text, and so belongs to only one write.
    var isText: Bool { value != nil && Tables.column(column, of: row.table)?.kind == .text }
}

extension Cell: CustomStringConvertible {
    var description: String { "\(row).\(column) = \(value ?? "null")" }
}

struct ServedRow {
    let name: RowName
    let seq: Int64
    var generation = 1
    /// Nil if the row is deleted.
    var values: Values?
    /// If the row is deleted, the deletion's clock.
    var clocks: ColumnClocks?
    var mergedInto: RowName?
}

extension ServedRow {
    init(_ stored: StoredVersion) throws {
        let name = RowName(table: stored.table, id: stored.id.replacing("-", with: ""))
        let json = try JSON(parsing: stored.content)
        self.init(
            name: name, seq: stored.seq, generation: stored.generation, clocks: json["@hlc"].flatMap(ColumnClocks.init))
        mergedInto = Rows.text(json["@mergedInto"]).map { RowName(table: stored.table, id: $0) }
        if generation % 2 == 0 { return }
        values = [:]
        for column in Tables.columns[stored.table] ?? [] {
            values?[column.name] = .some(Rows.text(json[column.name]) ?? (column.kind == .counter ? "0" : nil))
        }
    }
}

/// Reads all tables with plain SQL.
enum Rows {
    static func all(_ db: Database) throws -> [RowName: Values] {
        var rows: [RowName: Values] = [:]
        // Only this column depends on the version of the app.
        let version = try db.columns(in: "todo").contains { $0.name == "due" } ? 2 : 1
        for table in Tables.names {
            let columns = (Tables.columns[table] ?? []).filter { $0.since <= version }.map(\.name)
            let cursor = try Row.fetchCursor(
                db.cachedStatement(sql: "SELECT id, \(columns.joined(separator: ", ")) FROM \(table)"))
            while let row = try cursor.next() {
                guard let id = text(row[0]) else { continue }
                var values: Values = [:]
                for (index, column) in columns.enumerated() { values[column] = .some(text(row[index + 1])) }
                rows[RowName(table: table, id: id)] = values
            }
        }
        return rows
    }

    /// Reads names of rows from columns with the table and the id.
    static func names(_ db: Database, _ sql: String) throws -> Set<RowName> {
        Set(
            try Row.fetchAll(db.cachedStatement(sql: sql)).compactMap { row in
                text(row[1]).map { RowName(table: row[0], id: $0) }
            })
    }

    /// Returns the server's last transaction on each row whose version a device has received and shows.
    static func read(_ db: Database) throws -> [RowName: Int64] {
        let sql = """
            SELECT t.name, r.id, r.seq FROM optimist_remote r JOIN optimist_table t ON t.number = r.tbl
            WHERE r.generation > 0 AND (r.tbl, r.id) NOT IN (SELECT tbl, id FROM optimist_parked)
            """
        return try Row.fetchAll(db, sql: sql).reduce(into: [:]) { read, row in
            if let id = text(row[1]) { read[RowName(table: row[0], id: id)] = row[2] }
        }
    }

    static func text(_ value: DatabaseValue) -> String? {
        switch value.storage {
        case .null: nil
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .string(let text): text
        case .blob(let data): hex(data)
        }
    }

    static func hex(_ data: Data) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: data.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    static func text(_ json: JSON?) -> String? {
        guard let json, !json.isNull else { return nil }
        if let bool = json.bool { return bool ? "1" : "0" }
        if let number = json.int { return "\(number)" }
        guard let text = json.string else { return json.description }
        return text.count == 36 && text.contains("-") ? text.replacing("-", with: "") : text
    }
}
