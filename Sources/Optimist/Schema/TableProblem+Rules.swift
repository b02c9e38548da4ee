// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

extension TableProblem {
    static func rules(of record: any SyncedRecord.Type, _ name: String, in db: Database) throws -> [TableProblem] {
        if record.syncRules.counters.isEmpty, record.syncRules.columns.isEmpty { return names(of: record, name) }
        let columns = try TableLayout.storedColumns(of: name, in: db)
        let unique = try db.indexes(on: name, in: "main").filter(\.isUnique).flatMap(\.columns)
        return record.syncRules.counters.sorted().flatMap { counter -> [TableProblem] in
            guard let column = columns.first(where: { $0.name == counter }) else {
                return [
                    TableProblem(
                        name, counter, says: "a counter needs a column. Create it, or remove it from syncRules.")
                ]
            }
            return problems(ofCounter: column, name, isUnique: unique.contains(counter))
        } + names(of: record, name) + rules(of: columns, in: record, name)
    }

    private static func rules(
        of columns: [ColumnInfo], in record: any SyncedRecord.Type, _ table: String
    ) -> [TableProblem] {
        record.syncRules.columns.sorted { $0.key < $1.key }.flatMap { name, rules -> [TableProblem] in
            guard let column = columns.first(where: { $0.name == name }), name != "id" else {
                return [TableProblem(table, name, says: "a rule needs a column. Remove it from syncRules.")]
            }
            let type = record.syncRules.counters.contains(name) ? .counter : ValueForm.columnType(declared: column.type)
            return rules.faults(for: type).map { TableProblem(table, name, says: "it \($0)") }
        }
    }

    private static func problems(ofCounter column: ColumnInfo, _ table: String, isUnique: Bool) -> [TableProblem] {
        var problems: [TableProblem] = []
        if ![ColumnType.int, .int64].contains(ValueForm.columnType(declared: column.type)) {
            problems.append(
                TableProblem(table, column.name, says: "a counter holds whole numbers: declare it INTEGER."))
        }
        if column.isNotNull, column.defaultValueSQL == nil {
            problems.append(
                TableProblem(table, column.name, says: "a counter that is NOT NULL needs a default: DEFAULT 0."))
        }
        if let value = column.defaultValueSQL, Int64(value) != 0, value.uppercased() != "NULL" {
            problems.append(
                TableProblem(
                    table, column.name, isFatal: false,
                    says:
                        "a counter's default is added for each row inserted without a value. Use DEFAULT 0.")
            )
        }
        if isUnique {
            problems.append(
                TableProblem(
                    table, column.name,
                    says: "a counter cannot be UNIQUE: its value is a sum that no single device determines."))
        }
        return problems
    }

    private static func names(of record: any SyncedRecord.Type, _ table: String) -> [TableProblem] {
        let rules = record.syncRules
        return (rules.formerNames + rules.formerColumns.values.sorted()).filter { !Schema.isName($0) }.map {
            TableProblem(table, says: "the former name \"\($0)\" may contain only letters, digits and underscores.")
        }
    }
}
