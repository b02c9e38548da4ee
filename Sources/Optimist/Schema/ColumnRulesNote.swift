// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The column rules from the app's code, stored in the file for tools that do not see the code.
struct ColumnRulesNote {
    private(set) var rules: [String: [String: ColumnRules]] = [:]

    init(of records: [any SyncedRecord.Type]) {
        for record in records where !record.syncRules.columns.isEmpty {
            rules[record.databaseTableName] = record.syncRules.columns.filter { !$0.value.isEmpty }
        }
    }

    /// Empty if no store has opened the file.
    init(in db: Database) throws {
        for (table, columns) in try Meta.note(.columnRules, in: db) {
            for (column, members) in columns.object ?? [:] {
                rules[table, default: [:]][column] = ColumnRules(members: members) { _ in }
            }
        }
    }

    func keep(in db: Database) throws {
        let members = rules.mapValues { columns in
            JSON.object(JSONObject(columns.sorted { $0.key < $1.key }.map { ($0.key, .object($0.value.json)) }))
        }
        try Meta.keep(members, as: .columnRules, in: db)
    }
}
