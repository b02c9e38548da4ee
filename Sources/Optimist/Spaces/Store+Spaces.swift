// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

extension TableLayout {
    /// Whether rows of the table can be in a scope.
    func isKept(in scope: Int64) -> Bool { scope == Scope.personal ? isKeptInOwnAccount : isShared }

    fileprivate var isShared: Bool { rules.space != nil }

    /// Members and invitations are in spaces only.
    fileprivate var isKeptInOwnAccount: Bool { !isShared || !SpaceTables.contain(name) }
}

extension [TableLayout] {
    /// Whether the engine's own tables are among the tables, because the app shares one.
    var includeSpaces: Bool { contains { $0.name == SpaceRow.databaseTableName } }
}

extension Store {
    /// The app's records, with the engine's own if the app shares a table.
    static func withSpaces(_ synced: [any SyncedRecord.Type]) -> [any SyncedRecord.Type] {
        SpaceTables.added(to: synced)
    }

    /// Whether the app shares a table.
    var hasSpaces: Bool { layouts.includeSpaces }

    /// The names of the tables of the person's own account, in snapshot order.
    var ownTables: [String] { SnapshotOrder.sorted(layouts).filter(\.isKeptInOwnAccount).map(\.name) }

    /// The names of the tables of each space, in snapshot order.
    var sharedTables: [String] { SnapshotOrder.sorted(layouts).filter(\.isShared).map(\.name) }

    /// Gives a scope to each new space of the person.
    func followSpaces() async throws {
        let layouts = layouts
        if try await read({ try Scope.hasNewSpaces(layouts, in: $0) }) {
            try await apply { try Scope.followSpaces(layouts, in: $0) }
        }
    }

    /// The spaces that the server has accepted, with all tables.
    ///
    /// - Parameter some: The numbers of the scopes. Nil: all.
    func spaces(_ some: Set<Int64>? = nil) async throws -> [SpacePlan.Space] {
        let tables = sharedTables
        return try await read { try Scope.spaces(some, tables, in: $0) }
    }
}

extension Scope {
    private static let newSpaces = """
        SELECT id FROM optimist_space s WHERE NOT EXISTS (SELECT 1 FROM optimist_scope o WHERE o.space = s.id)
        """

    fileprivate static func hasNewSpaces(_ layouts: [TableLayout], in db: Database) throws -> Bool {
        guard layouts.includeSpaces else { return false }
        return try Bool.fetchOne(db.cachedStatement(sql: "SELECT EXISTS (\(newSpaces))")) ?? false
    }

    /// Gives a scope to each space that the person uses. Call this before a transaction looks for the scopes of spaces.
    ///
    /// - Parameter layouts: If the app shares no table, there are no spaces.
    static func followSpaces(_ layouts: [TableLayout], in db: Database) throws {
        guard layouts.includeSpaces else { return }
        try db.cachedStatement(sql: "INSERT INTO optimist_scope(space) \(newSpaces)").execute()
    }

    /// The server accepts the person's row of a space together with the member row, so the space is read from then on. If
    /// the row is deleted later, the space is read until the server reports the end of access. A person who joins again
    /// still has the row, and waits for the new member row. A restored server may have lost the row of a space that was
    /// received.
    private static let accepted = """
        SELECT o.number, o.space FROM optimist_scope o WHERE o.space IS NOT NULL
        AND (EXISTS (SELECT 1 FROM optimist_remote r
        WHERE r.tbl = \(SpaceTables.spaces) AND r.id = o.space AND r.generation > 0)
        OR EXISTS (SELECT 1 FROM optimist_progress p WHERE p.scope = o.number))
        AND NOT \(isEntering)
        """

    /// Whether the server has yet to admit the person. Until then, the device does not ask for the space.
    private static let isEntering = """
        EXISTS (SELECT 1 FROM optimist_edit e LEFT JOIN optimist_remote m ON m.tbl = e.tbl AND m.id = e.id
        WHERE e.tbl = \(SpaceTables.members) AND e.id = o.member AND coalesce(m.generation, 0) = 0)
        """

    static func isEntering(_ number: Int64, in db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM optimist_scope o WHERE o.number = ? AND \(isEntering))"
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [number]) ?? false
    }

    /// Whether all spaces were received once. Each status asks, so this takes one statement.
    static func haveArrived(_ tables: [String], in db: Database) throws -> Bool {
        let sql = """
            SELECT NOT EXISTS (SELECT 1 FROM (\(accepted)) o WHERE ? > (SELECT count(*) FROM optimist_progress p
            WHERE p.scope = o.number AND p.isComplete))
            """
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [tables.count]) ?? true
    }

    static func spaces(_ some: Set<Int64>?, _ tables: [String], in db: Database) throws -> [SpacePlan.Space] {
        try Row.fetchAll(db.cachedStatement(sql: "\(accepted) ORDER BY o.number")).compactMap { row in
            let scope: Int64 = row[0]
            guard some?.contains(scope) ?? true, let id = UUIDForm.bytes.wire(row[1]) else { return nil }
            let progress = try ProgressTable(db, of: scope).fetchAll(tables)
            return SpacePlan.Space(scope: scope, id: id, tableProgress: progress)
        }
    }
}
