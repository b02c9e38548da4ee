// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Creates and drops the index of pending rows in sending order.
///
/// Local writes do not maintain the index, because that would cost about as much as writing the row. A few pending rows
/// are sorted when they are read. If there are more, the engine creates the index before reading, and drops it after
/// sending.
struct SendingOrder {
    private let db: Database

    /// Up to this many pending rows are sorted, which takes about a millisecond.
    static let few = 500

    init(_ db: Database) { self.db = db }

    func prepare() throws {
        guard try isMissing else { return }
        try db.execute(sql: "CREATE INDEX \(Self.name) ON optimist_edit(grp, tbl, place)")
    }

    /// Drops the index only when at most half of ``few`` rows are pending, so that a fluctuating number does not
    /// recreate the index each time.
    func release() throws {
        if try index == nil || hasPending(moreThan: Self.few / 2) { return }
        try db.execute(sql: "DROP INDEX \(Self.name)")
    }

    var isMissing: Bool {
        get throws { try index == nil && hasPending(moreThan: Self.few) }
    }

    private static let name = "optimist_edit_group"

    /// The index's name, if the index exists. Queries name the index, because SQLite does not know the number of
    /// pending rows and would sort them.
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
