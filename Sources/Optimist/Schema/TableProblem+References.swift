// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension TableProblem {
    static func problems(
        of references: References, _ name: String, among synced: [any SyncedRecord.Type]
    ) -> [TableProblem] {
        let known = synced.map { $0.databaseTableName }
        let keys = references.columns.map { (columns: [$0.key], table: $0.value.table) }.sorted {
            $0.columns[0] < $1.columns[0]
        }
        return (keys + references.others.map { (columns: $0.columns, table: $0.table) })
            .filter { !known.contains($0.table) }.map { toLocal(name, $0.columns, $0.table) }
            + references.others.filter { known.contains($0.table) }.map { unknownToServer(name, $0) }
    }

    /// A foreign key to an unsynced table, whose rows never reach another device.
    private static func toLocal(_ name: String, _ columns: [String], _ parent: String) -> TableProblem {
        TableProblem(
            name, columns.joined(separator: ", "), isFatal: false,
            says:
                "it refers to \(parent), which is not synced. Other devices lack the referenced rows and park these rows. Sync the record type of \(parent) as well."
        )
    }

    /// A foreign key that the server cannot express, between synced tables. A deletion would cascade to the row on the
    /// device, but not on the server.
    private static func unknownToServer(_ name: String, _ key: References.Other) -> TableProblem {
        let what =
            key.columns == ["id"] ? "the id is a foreign key to \(key.table)" : "it is a foreign key to \(key.table)"
        return TableProblem(
            name, key.columns.joined(separator: ", "),
            says:
                "\(what), but the server only supports references from a single column other than the id to an id. Devices would never agree on the effect of a deletion. Give the row a separate id and a column that refers to \(key.table).id, declared UNIQUE for a one-to-one relation."
        )
    }
}
