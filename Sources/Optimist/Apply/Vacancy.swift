// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Temporarily replaces unique values of some rows by random placeholders of the same type, so that the rows can
/// exchange them (M6).
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

    /// - Parameter rows: May contain duplicates.
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
                        WHEN 'integer' THEN random() & 9223372036854775807 WHEN 'real' THEN random() + 0.5 WHEN 'blob' THEN randomblob(16)
                        ELSE lower(hex(randomblob(16))) END WHERE id = ?
                        """, arguments: [id])
            }
            guard let placeholder = try value(column, id, table) else { continue }
            vacated.append(
                Vacated(table: table, id: id, column: column, original: original, placeholder: placeholder))
        }
    }

    /// Restores the values that were not overwritten.
    ///
    /// - Throws: `DatabaseError` of a constraint, for example if another row has taken such a value.
    func restore() throws {
        for row in vacated {
            try DatabaseError.asConstraint {
                try RowStatement(
                    "\(row.table.updateSQL) \"\(row.column)\" = ? WHERE id = ? AND \"\(row.column)\" IS ?", in: db
                ).execute([row.original, row.id, row.placeholder])
            }
        }
    }

    /// The values of a row, with the originals in place of placeholders.
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
        try RowStatement("SELECT \"\(column)\" FROM \(table.layout.quotedName) WHERE id = ?", in: db)
            .first([id]) { $0.value(0) }
    }
}
