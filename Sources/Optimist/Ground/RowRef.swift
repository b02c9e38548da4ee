// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// A row's identity in the engine's tables.
struct RowRef: Hashable, Sendable {
    let table: Int64
    let id: DatabaseValue
}

extension RowRef? {
    /// The arguments of a statement for one row, or for all if nil.
    func arguments(limit: Int) -> StatementArguments {
        guard let self else { return ["limit": limit] }
        return ["table": self.table, "id": self.id, "limit": limit]
    }
}
