// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Makes and drops the index that has the pending rows in their order of sending.
///
/// A local write does not keep this order: to maintain an index would cost it about as much as the row itself. A few pending
/// rows are sorted when they are read. For more, the engine makes the index before it reads them, and drops it when they
/// have been sent.
struct SendingOrder {
    private let db: Database

    /// Up to this many pending rows are sorted. That takes about a millisecond.
    static let few = 500

    init(_ db: Database) { self.db = db }

    /// Makes the index if there are more than a few pending rows.
    func prepare() throws {
        guard try isMissing else { return }
        try db.execute(sql: "CREATE INDEX \(Self.name) ON optimist_edit(grp, tbl, place)")
    }

    /// Drops the index if there are few pending rows. At the half of a few, so that a number that goes up and down does not
    /// make and drop it each time.
    func release() throws {
        if try index == nil || hasPending(moreThan: Self.few / 2) { return }
        try db.execute(sql: "DROP INDEX \(Self.name)")
    }

    /// Whether the index is needed and not there.
    var isMissing: Bool {
        get throws { try index == nil && hasPending(moreThan: Self.few) }
    }

    private static let name = "optimist_edit_group"

    /// The name of the index, if it is there. Queries name it, because SQLite does not know how many rows
    /// are pending, and would sort them.
    var index: String? {
        get throws {
            let index = try db.cachedStatement(sql: "SELECT name FROM sqlite_master WHERE type = 'index' AND name = ?")
            return try String.fetchOne(index, arguments: [Self.name])
        }
    }

    private func hasPending(moreThan count: Int) throws -> Bool {
        let pending = try db.cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM optimist_edit LIMIT 1 OFFSET ?)")
        return try Bool.fetchOne(pending, arguments: [count]) ?? false
    }
}
