// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The columns of unique indexes of some rows, emptied for a moment, so that the rows can exchange their values (M6).
///
/// Each gets a random value of its own type. A value that the applied rows do not overwrite is restored then.
struct Vacancy {
    private struct Vacated {
        let table: AppTable
        let id: DatabaseValue
        let column: String
        let original: DatabaseValue
        let placeholder: DatabaseValue
    }

    private let db: Database
    private var vacated: [Vacated] = []

    /// Empties the unique values of some rows. A row may stand several times among them.
    ///
    /// - Throws: `DatabaseError` of a constraint.
    init(of rows: [RowRef], in tables: AppTables, _ db: Database) throws {
        self.db = db
        var emptied: Set<RowRef> = []
        for row in rows where emptied.insert(row).inserted {
            if let table = tables[row.table] { try empty(row.id, in: table) }
        }
    }

    private mutating func empty(_ id: DatabaseValue, in table: AppTable) throws {
        let unique = try Set(table.uniqueIndexes.joined())
        for column in table.layout.columns.map(\.name) where unique.contains(column) {
            guard let original = try value(column, id, table), !original.isNull else { continue }
            try DatabaseError.asConstraint {
                try db.execute(
                    sql: """
                        \(table.updateSQL) "\(column)" = CASE typeof("\(column)")
                        WHEN 'integer' THEN random() WHEN 'real' THEN random() + 0.5 WHEN 'blob' THEN randomblob(16)
                        ELSE lower(hex(randomblob(16))) END WHERE id = ?
                        """, arguments: [id])
            }
            guard let placeholder = try value(column, id, table) else { continue }
            vacated.append(
                Vacated(table: table, id: id, column: column, original: original, placeholder: placeholder))
        }
    }

    /// Gives back the values that no other row has taken.
    ///
    /// - Throws: `DatabaseError` of a constraint.
    func restore() throws {
        for row in vacated {
            try DatabaseError.asConstraint {
                try db.execute(
                    sql: "\(row.table.updateSQL) \"\(row.column)\" = ? WHERE id = ? AND \"\(row.column)\" IS ?",
                    arguments: [row.original, row.id, row.placeholder])
            }
        }
    }

    /// The values of a row, with the emptied ones as they were.
    func filled(_ values: JSONObject, of id: DatabaseValue, in table: AppTable) -> JSONObject {
        var values = values
        for row in vacated where row.id == id && row.table.layout.number == table.layout.number {
            guard let form = table.layout[column: row.column]?.form, values[row.column] == form.wire(row.placeholder)
            else { continue }
            values[row.column] = form.wire(row.original)
        }
        return values
    }

    private func value(_ column: String, _ id: DatabaseValue, _ table: AppTable) throws -> DatabaseValue? {
        try DatabaseValue.fetchOne(
            db, sql: "SELECT \"\(column)\" FROM \(table.layout.quotedName) WHERE id = ?", arguments: [id])
    }
}
