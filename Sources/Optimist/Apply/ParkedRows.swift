// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Reads and writes `optimist_parked`: server rows that do not fit the app's tables yet (R4), or wait for the answer to
/// an unsent change of the same row, or claim an id that is in use in another scope.
///
/// Invariant: a parked row's entry does not count the parked values as shown, so a retry sees them as new.
struct ParkedRows {
    let db: Database

    init(_ db: Database) { self.db = db }

    var isEmpty: Bool {
        get throws {
            try Bool.fetchOne(db.cachedStatement(sql: "SELECT NOT EXISTS (SELECT 1 FROM optimist_parked)")) ?? true
        }
    }

    /// A later version of the row replaces the parked one of the same scope.
    ///
    /// - Parameter parent: The missing row that the parked row refers to. Nil if there is another obstacle.
    func park(_ row: ReceivedRow, reason: ParkedReason, awaiting parent: RowRef?) throws {
        let json = Self.wire(row.content)
        try db.cachedStatement(
            sql: """
                INSERT INTO optimist_parked(scope, tbl, id, seq, row, reason, message, parentTable, parent)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(tbl, id, scope) DO UPDATE SET
                seq = excluded.seq, row = excluded.row, reason = excluded.reason, message = excluded.message,
                parentTable = excluded.parentTable, parent = excluded.parent
                WHERE (seq, row, reason, message, parentTable, parent) IS NOT (excluded.seq, excluded.row,
                excluded.reason, excluded.message, excluded.parentTable, excluded.parent)
                """
        ).execute(arguments: [
            row.scope, row.ref.table, row.ref.id, row.content.version.seq, json.description, reason.kind.rawValue,
            reason.message,
            parent?.table, parent?.id,
        ])
    }

    /// Replaces the content, but not the obstacle.
    func replace(with patch: RowPatch, at ref: RowRef, in scope: Int64) throws {
        try db.cachedStatement(sql: "UPDATE optimist_parked SET row = ? WHERE tbl = ? AND id = ? AND scope = ?")
            .execute(arguments: [Self.wire(.row(patch)).description, ref.table, ref.id, scope])
    }

    func awaitsDeletion(_ ref: RowRef) throws -> Bool {
        if case .deleted? = try content(ref) { true } else { false }
    }

    /// The parked version of the row, without claims.
    func content(_ ref: RowRef) throws -> RemotePage.Row.Content? {
        let row = try db.cachedStatement(
            sql: "SELECT row FROM optimist_parked WHERE tbl = ? AND id = ? AND NOT \(Self.isClaim)")
        return try String.fetchOne(row, arguments: [ref.table, ref.id]).flatMap(Self.content)
    }

    /// The version of the row that is parked in its own scope.
    func content(of entry: RowEntry) throws -> RemotePage.Row.Content? {
        try content(entry.ref, in: entry.remote.scope)
    }

    func content(_ ref: RowRef, in scope: Int64) throws -> RemotePage.Row.Content? {
        let row = try db.cachedStatement(
            sql: "SELECT row FROM optimist_parked WHERE tbl = ? AND id = ? AND scope = ?")
        return try String.fetchOne(row, arguments: [ref.table, ref.id, scope]).flatMap(Self.content)
    }

    func hasLater(than seq: Int64, of ref: RowRef, in scope: Int64) throws -> Bool {
        try content(ref, in: scope).map { $0.version.seq > seq } ?? false
    }

    var holdsDeletionsBack: Bool {
        get throws {
            let held = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM optimist_parked WHERE reason = ?)")
            return try Bool.fetchOne(held, arguments: [ParkedReason.Kind.deletionTooSoon.rawValue]) ?? false
        }
    }

    /// The SQL form of ``RowEntry/isAbove(_:at:)``.
    private static let isBelowUnsent = """
        reason = \(ParkedReason.Kind.belowUnsent.rawValue) AND EXISTS (SELECT 1 FROM optimist_edit e \
        LEFT JOIN optimist_remote r ON r.tbl = e.tbl AND r.id = e.id AND r.scope = optimist_parked.scope \
        WHERE e.tbl = optimist_parked.tbl AND e.id = optimist_parked.id AND coalesce(r.generation, 0) < e.generation \
        AND coalesce(optimist_parked.row ->> '$."@gen"', 1) < e.generation \
        AND (coalesce(r.seq, 0) < optimist_parked.seq OR r.known = 0))
        """

    func remove(_ ref: RowRef, in scope: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM optimist_parked WHERE tbl = ? AND id = ? AND scope = ?")
            .execute(arguments: [ref.table, ref.id, scope])
    }

    private static let isClaim = "reason = \(ParkedReason.Kind.claim.rawValue)"

    /// Whether a version of the row is parked in another scope, where it only waits to fit.
    func holds(_ ref: RowRef, outside scope: Int64) throws -> Bool {
        let held = try db.cachedStatement(
            sql: """
                SELECT EXISTS (SELECT 1 FROM optimist_parked WHERE tbl = ? AND id = ? AND scope <> ? AND NOT \(Self.isClaim))
                """)
        return try Bool.fetchOne(held, arguments: [ref.table, ref.id, scope]) ?? false
    }

    /// The claims on ids, without rows that have another version parked for another reason in another scope.
    func claims() throws -> [ReceivedRow] {
        try fetch(
            """
            \(Self.isClaim) AND NOT EXISTS (SELECT 1 FROM optimist_parked o WHERE o.tbl = optimist_parked.tbl \
            AND o.id = optimist_parked.id AND o.scope <> optimist_parked.scope AND NOT o.\(Self.isClaim))
            """)
    }

    /// The rows to retry: rows without a missing parent, by server transaction, then rows whose parent has arrived, and
    /// rows that wait for these.
    ///
    /// - Parameters:
    ///   - others: Rows about to be applied. The result includes the rows that wait for them.
    ///   - hasMore: Whether deletions are still held back.
    func ready(_ tables: AppTables, besides others: [RowRef], hasMore: Bool) throws -> [ReceivedRow] {
        var ready = try fetch(
            """
            parentTable IS NULL AND NOT \(Self.isClaim) AND NOT (?1 AND reason = ?2) AND NOT (\(Self.isBelowUnsent))
            """, [hasMore, ParkedReason.Kind.deletionTooSoon.rawValue])
        let parents = try Int64.fetchAll(
            db.cachedStatement(sql: "SELECT DISTINCT parentTable FROM optimist_parked WHERE parentTable IS NOT NULL"))
        if parents.isEmpty { return ready }
        for parent in parents {
            guard let table = tables[parent] else { continue }
            ready += try fetch(
                """
                parentTable = \(parent) AND EXISTS (SELECT 1 FROM \(table.layout.quotedName) p \
                WHERE p.id = optimist_parked.parent)
                """)
        }
        return try ready + waiting(for: ready.map(\.ref) + others, besides: ready)
    }

    /// The rows that wait, directly or indirectly, for some other rows.
    private func waiting(for others: [RowRef], besides ready: [ReceivedRow]) throws -> [ReceivedRow] {
        var (found, next): ([ReceivedRow], [RowRef]) = ([], others)
        var met = Set(ready.map(\.ref))
        while let parent = next.popLast() {
            let waiting = try fetch("parentTable = ? AND parent = ?", [parent.table, parent.id])
                .filter { met.insert($0.ref).inserted }
            found += waiting
            next += waiting.map(\.ref)
        }
        return found
    }

    /// The parked rows that have unsent edits and no server transaction.
    ///
    /// - Complexity: One index lookup for each unsent row if there are fewer than 100. Otherwise it reads all parked
    ///   rows.
    func editedWithoutVersion() throws -> [ReceivedRow] {
        let unsent = try Int.fetchOne(
            db.cachedStatement(
                sql: "SELECT count(*) FROM (SELECT 1 FROM optimist_edit LIMIT \(Self.few))"))
        guard unsent == Self.few else {
            return try fetch(
                """
                rowid IN (SELECT p.rowid FROM optimist_edit e CROSS JOIN optimist_parked p ON p.tbl = e.tbl AND p.id = e.id) \
                AND seq = 0
                """)
        }
        return try fetch(
            """
            seq = 0 AND EXISTS (SELECT 1 FROM optimist_edit e WHERE e.tbl = optimist_parked.tbl \
            AND e.id = optimist_parked.id)
            """)
    }

    private static let few = 100

    private func fetch(_ condition: String, _ values: StatementArguments = StatementArguments()) throws -> [ReceivedRow]
    {
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT tbl, id, scope, row FROM optimist_parked WHERE \(condition) ORDER BY seq"),
            arguments: values)
        return rows.compactMap { row in
            Self.content(row[3]).map {
                ReceivedRow(ref: RowRef(table: row[0], id: row[1]), scope: row[2], content: $0, hasWaited: true)
            }
        }
    }

    // MARK: - Coding

    private static func wire(_ content: RemotePage.Row.Content) -> JSON {
        switch content {
        case .row(let patch): .object(patch.json(id: ""))
        case .deleted(let tombstone): tombstone.json
        }
    }

    private static func content(_ text: String) -> RemotePage.Row.Content? {
        guard let json = (try? JSON(parsing: text.utf8))?.object else { return nil }
        return json["id"] != nil
            ? RowPatch(json: json).map(RemotePage.Row.Content.row)
            : Tombstone(json: .object(json)).map(RemotePage.Row.Content.deleted)
    }
}

extension RemotePage.Row.Content {
    /// The life and the server transaction. Zero means none, for example for a partial row.
    var version: (life: Int, seq: Int64) {
        switch self {
        case .row(let patch): (patch.generation ?? 1, patch.seq ?? 0)
        case .deleted(let tombstone): (tombstone.generation, tombstone.seq ?? 0)
        }
    }
}
