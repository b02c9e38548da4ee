// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The former table and column names from the app's code, stored in the file for tools that do not see the code.
struct FormerNameNote: Equatable {
    /// The rules by the table's current name, with former names only.
    private(set) var rules: [String: SyncRules] = [:]

    init(_ rules: [String: SyncRules] = [:]) { self.rules = rules }

    init(of records: [any SyncedRecord.Type]) {
        for record in records {
            let said = record.syncRules
            if said.formerNames.isEmpty, said.formerColumns.isEmpty { continue }
            rules[record.databaseTableName] = SyncRules(
                formerColumns: said.formerColumns, formerNames: said.formerNames)
        }
    }

    /// Empty if no store has opened the file.
    init(in db: Database) throws {
        for (table, names) in try Meta.note(.formerNames, in: db) {
            let columns = names["columns"]?.object?.compactMap { member in member.value.string.map { (member.key, $0) }
            }
            rules[table] = SyncRules(
                formerColumns: Dictionary(columns ?? [], uniquingKeysWith: { $1 }),
                formerNames: names["names"]?.array?.compactMap(\.string) ?? [])
        }
    }

    func keep(in db: Database) throws {
        let members = rules.mapValues { rules -> JSON in
            let columns = rules.formerColumns.sorted { $0.key < $1.key }.map { ($0.key, JSON.string($0.value)) }
            return [
                "columns": .object(JSONObject(columns)), "names": .array(rules.formerNames.map(JSON.string)),
            ]
        }
        try Meta.keep(members, as: .formerNames, in: db)
    }
}
