// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistWire

/// The rows of people who share, as a device shows them.
struct SharedRows: Equatable {
    /// By name, without counters. Nil is null.
    var rows: [RowName: Values] = [:]
    var points: [RowName: Int64] = [:]

    /// Reads all tables with plain SQL.
    init(_ db: Database) throws {
        for table in SharedTables.names {
            let columns = SharedTables.columns(of: table)
            let cursor = try Row.fetchCursor(
                db.cachedStatement(sql: "SELECT id, \(columns.joined(separator: ", ")) FROM \(table)"))
            while let row = try cursor.next() {
                guard let id = Rows.text(row[0]) else { continue }
                let values = zip(columns, row.databaseValues.dropFirst()).map { ($0, Rows.text($1)) }
                add(RowName(table: table, id: id), Values(values, uniquingKeysWith: { $1 }))
            }
        }
    }

    /// The living rows of some accounts.
    init(_ accounts: some Sequence<SharedAccount>) {
        for account in accounts { for (name, values) in account.living { add(name, values) } }
    }

    private mutating func add(_ name: RowName, _ values: Values) {
        var values = values
        if name.table == SharedTables.counter.table {
            let count = values.removeValue(forKey: SharedTables.counter.column) ?? nil
            points[name] = count.flatMap { Int64($0) } ?? 0
        }
        rows[name] = values
    }

    /// The root that decides where a row is. Nil if a row above it is not here.
    func root(of name: RowName) -> RowName? {
        guard let up = SharedTables.references[name.table]?.first else { return name }
        guard let id = rows[name]?[up.column].flatMap({ $0 }) else { return nil }
        return root(of: RowName(table: up.table, id: id))
    }

    /// The id of the space where a row is, in hexadecimal digits. Nil for the person's own rows.
    func space(of name: RowName) -> String? { root(of: name).flatMap { rows[$0]?["space"] ?? nil } }
}
