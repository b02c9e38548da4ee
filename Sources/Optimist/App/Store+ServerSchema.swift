// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
@_spi(Internals) import OptimistWire

extension Store {
    /// Refuses to sync a table with a unique index that the server does not have or cannot enforce. Otherwise two
    /// devices could each hold a row that the other's row excludes, and never agree (M6).
    ///
    /// - Throws: `OptimistError` with code `invalidTable`.
    func check(against schema: Schema) async throws {
        try await read { db in
            for layout in self.layouts {
                guard let type = schema.types[layout.name] else { continue }
                let known = Set(type.uniqueIndexes.map { Set($0.columns) })
                let indexes = try UniqueIndexes(of: layout.name, layout.rules.space, in: db)
                if let problem = indexes.problems.first {
                    throw OptimistError(.invalidTable, "\(layout.name): \(problem)")
                }
                for columns in indexes.onServer where !known.contains(Set(columns)) {
                    throw OptimistError(
                        .invalidTable,
                        """
                        \(layout.name) has a unique index on \(columns.joined(separator: ", ")) that the server's schema \
                        lacks. Add it there as "@unique" (`optimist schema` does this), or drop the index.
                        """)
                }
            }
        }
    }
}
