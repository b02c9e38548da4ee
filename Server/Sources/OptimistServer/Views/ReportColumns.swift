// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

/// The columns of a type in reports: the account, the id, the time of the last write, and the type's own columns.
package struct ReportColumns {
    package struct Column {
        /// The name in the rows.
        package var name: String
        /// The name in reports.
        package var shown: String
        package var type: ColumnType
    }

    package static let account = "account_id"
    package static let id = "id"
    /// The latest clock of the row's columns.
    package static let changed = "changed_at"

    /// The type's own columns, by name.
    package let columns: [Column]

    package init(of definition: TypeSchema) {
        let own = Set([Self.account, Self.id, Self.changed])
        let names = Set(definition.columns.keys.map { $0.lowercased() })
        columns = definition.columns.sorted { $0.key < $1.key }.map { name, column in
            var shown = name
            while own.contains(shown.lowercased()) || (shown != name && names.contains(shown.lowercased())) {
                shown += "_"
            }
            return Column(name: name, shown: shown, type: column.type)
        }
    }
}

extension String {
    /// A name in SQL.
    package var sqlName: String { "\"\(replacing("\"", with: "\"\""))\"" }
    /// A text in SQL.
    package var sqlText: String { "'\(replacing("'", with: "''"))'" }
}
