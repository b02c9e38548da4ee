// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

/// Finds the rows that a received row needs before it can be put or deleted.
///
/// A put row needs its parents and the holders of its unique values. A deleted row needs the row that it was merged
/// into, and the rows that refer to it, so that moved rows are put first.
struct RowNeeds {
    let tables: AppTables
    let references: ReferenceGraph

    func needs(of row: ReceivedRow) throws -> [RowRef] {
        guard let table = tables[row.ref.table] else { return [] }
        if row.isAlive { return try references(of: row) + holders(of: row, in: table) }
        let winner = row.mergedInto.flatMap(table.layout.idForm.stored).map { RowRef(table: row.ref.table, id: $0) }
        return try [winner].compactMap(\.self) + tables.children(of: row.ref, references).map(\.ref)
    }

    /// The parents of the server's version.
    func references(of row: ReceivedRow) -> [RowRef] {
        guard case .row(let patch) = row.content, let table = tables[row.ref.table] else { return [] }
        return tables.owners(by: patch.values, in: table)
    }

    /// Other rows of the app's table with the row's unique values.
    private func holders(of row: ReceivedRow, in table: AppTable) throws -> [RowRef] {
        guard case .row(let patch) = row.content else { return [] }
        var found: [RowRef] = []
        for index in try table.uniqueIndexes {
            let columns = index.compactMap { table.layout[column: $0] }
            let values = columns.compactMap { column in patch.values[column.name].map(column.form.stored) }
            // SQLite compares no nulls, but a second index compares the rows without a space.
            let nulls = zip(columns, values).filter { $1.isNull }.map { SpaceRule.own($0.0.name) }
            guard columns.count == index.count, values.count == index.count,
                nulls.allSatisfy({ $0 == table.layout.rules.space })
            else { continue }
            found += try table.ids(where: columns, are: values).map { RowRef(table: row.ref.table, id: $0) }
        }
        return found.filter { $0 != row.ref }
    }
}
