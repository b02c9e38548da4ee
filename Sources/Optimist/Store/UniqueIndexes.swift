// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

/// The columns of each unique index of a table, but for those that contain the primary key.
struct UniqueIndexes {
    let columns: [[String]]

    init(of table: String, in db: Database) throws {
        columns = try db.indexes(on: table).filter { $0.isUnique && !$0.columns.contains("id") }.map(\.columns)
    }
}

extension Store {
    /// Refuses to sync a table with a unique index that the server does not know: two devices could each hold a row that
    /// excludes the other's, and would never agree (M6).
    ///
    /// - Throws: `OptimistError` with code `invalidTable`.
    func check(against schema: Schema) async throws {
        try await read { db in
            for layout in self.layouts {
                guard let type = schema.types[layout.name] else { continue }
                let known = Set(type.uniqueIndexes.map { Set($0.columns) })
                for columns in try UniqueIndexes(of: layout.name, in: db).columns where !known.contains(Set(columns)) {
                    throw OptimistError(
                        .invalidTable,
                        """
                        \(layout.name) has a unique index on \(columns.joined(separator: ", ")) that the server's schema does \
                        not have. Add it there as "@unique", as `optimist schema` writes it, or drop the index.
                        """)
                }
            }
        }
    }
}
