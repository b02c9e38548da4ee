// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// The columns of unique indexes of some rows, emptied for a moment, so that the rows can exchange their values (M6).
///
/// Each gets a random value of its own type. What is not overwritten by the rows that are applied then gets its value back.
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

    init(_ db: Database) { self.db = db }

    mutating func empty(_ id: DatabaseValue, in table: AppTable) throws {
        let unique = try Set(table.uniqueIndexes.joined())
        for column in table.layout.columns.map(\.name) where unique.contains(column) {
            guard let original = try value(column, id, table), !original.isNull else { continue }
            try db.execute(
                sql: """
                    UPDATE \(table.layout.quotedName) SET "\(column)" = CASE typeof("\(column)")
                    WHEN 'integer' THEN random() WHEN 'real' THEN random() + 0.5 WHEN 'blob' THEN randomblob(16)
                    ELSE lower(hex(randomblob(16))) END WHERE id = ?
                    """, arguments: [id])
            guard let placeholder = try value(column, id, table) else { continue }
            vacated.append(
                Vacated(table: table, id: id, column: column, original: original, placeholder: placeholder))
        }
    }

    /// Gives back what nobody has taken.
    func restore() throws {
        for row in vacated {
            try db.execute(
                sql: """
                    UPDATE \(row.table.layout.quotedName) SET "\(row.column)" = ?
                    WHERE id = ? AND "\(row.column)" IS ?
                    """, arguments: [row.original, row.id, row.placeholder])
        }
    }

    private func value(_ column: String, _ id: DatabaseValue, _ table: AppTable) throws -> DatabaseValue? {
        try DatabaseValue.fetchOne(
            db, sql: "SELECT \"\(column)\" FROM \(table.layout.quotedName) WHERE id = ?", arguments: [id])
    }
}
