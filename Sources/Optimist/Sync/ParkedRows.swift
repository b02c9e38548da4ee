// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Reads and writes `optimist_parked`: the server's rows that do not fit the app's tables yet (R4), or that wait for
/// the answer to the row's unsent half.
struct ParkedRows {
    let db: Database

    init(_ db: Database) { self.db = db }

    var isEmpty: Bool {
        get throws {
            try Bool.fetchOne(db.cachedStatement(sql: "SELECT NOT EXISTS (SELECT 1 FROM optimist_parked)")) ?? true
        }
    }

    /// Keeps a row in its wire form beside the table. A later version of it takes its place.
    ///
    /// - Parameter parent: The row that it refers to and that is not here. Nil: something else stands in its way.
    func park(_ row: ReceivedRow, reason: String?, awaiting parent: RowRef?) throws {
        let json = Self.wire(row.content)
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO optimist_parked(tbl, id, seq, row, reason, parentTable, parent)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            row.ref.table, row.ref.id, row.content.version.seq, json.description, reason ?? "a constraint of the table",
            parent?.table,
            parent?.id,
        ])
    }

    /// Changes what waits of a row, which waits for the same as before.
    func replace(with patch: RowPatch, at ref: RowRef) throws {
        try db.cachedStatement(sql: "UPDATE optimist_parked SET row = ? WHERE tbl = ? AND id = ?")
            .execute(arguments: [Self.wire(.row(patch)).description, ref.table, ref.id])
    }

    func contains(_ ref: RowRef) throws -> Bool {
        let parked = try db.cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM optimist_parked WHERE tbl = ? AND id = ?)")
        return try Bool.fetchOne(parked, arguments: [ref.table, ref.id]) ?? false
    }

    /// Whether a row is deleted as soon as what refers to it allows that.
    func awaitsDeletion(_ ref: RowRef) throws -> Bool {
        if case .deleted? = try content(ref) { true } else { false }
    }

    /// What waits of a row.
    func content(_ ref: RowRef) throws -> PageRow.Content? {
        let row = try db.cachedStatement(sql: "SELECT row FROM optimist_parked WHERE tbl = ? AND id = ?")
        return try String.fetchOne(row, arguments: [ref.table, ref.id]).flatMap(Self.content)
    }

    /// Whether what waits of a row is of a later transaction of the server's.
    func hasLater(than seq: Int64, of ref: RowRef) throws -> Bool {
        try content(ref).map { $0.version.seq > seq } ?? false
    }

    var holdsDeletionsBack: Bool {
        get throws {
            let held = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM optimist_parked WHERE reason = ?)")
            return try Bool.fetchOne(held, arguments: [Self.heldBack]) ?? false
        }
    }

    /// The reason of a deletion that waits until everything else is here that the server has changed meanwhile.
    static let heldBack = "rows that refer to it may have another owner by now"

    /// The reason of rows that refer to each other: all of them wait for what one of them refers to besides.
    static let circle = "rows that it refers to in a circle wait for another one"

    /// The reason of a row that waits until what is unsent above it is settled.
    static let belowUnsent = "what is to be sent of the row comes first"

    /// Whether a row would have to wait again: see ``RowEntry/isAbove(_:at:)``.
    private static let isBelowUnsent = """
        reason = '\(belowUnsent)' AND EXISTS (SELECT 1 FROM optimist_row r WHERE r.tbl = optimist_parked.tbl \
        AND r.id = optimist_parked.id AND r.pending IS NOT NULL AND r.acked < r.generation \
        AND coalesce(optimist_parked.row ->> '$."@gen"', 1) < r.generation AND (r.seq < optimist_parked.seq OR r.known = 0))
        """

    /// Removes a row when a later version of it has come. The rows that stood in a circle with it are tried again: they
    /// may no longer need the row that all of them waited for.
    func forget(_ ref: RowRef) throws {
        let former = try Row.fetchOne(
            db.cachedStatement(
                sql: "DELETE FROM optimist_parked WHERE tbl = ? AND id = ? RETURNING reason, parentTable, parent"),
            arguments: [ref.table, ref.id])
        guard let former, former[0] == Self.circle else { return }
        try db.execute(
            sql: """
                UPDATE optimist_parked SET parentTable = NULL, parent = NULL
                WHERE parentTable = ? AND parent = ? AND reason = ?
                """,
            arguments: [former[1] as Int64?, former[2] as DatabaseValue, Self.circle])
    }

    func remove(_ ref: RowRef) throws {
        try db.cachedStatement(sql: "DELETE FROM optimist_parked WHERE tbl = ? AND id = ?")
            .execute(arguments: [ref.table, ref.id])
    }

    /// Takes out the parked rows whose parents are here now, oldest first.
    ///
    /// - Parameters:
    ///   - tables: Where the parents are looked up.
    ///   - includingOthers: Whether those are tried too that something else stands in the way of, unless that is known to stand
    ///     there still.
    ///   - hasMore: Whether deletions are still held back.
    func takeReady(_ tables: AppTables, includingOthers: Bool, hasMore: Bool) throws -> [ReceivedRow] {
        var ready: [ReceivedRow] = []
        if includingOthers {
            ready += try take(
                "parentTable IS NULL AND NOT (?1 AND reason = ?2) AND NOT (\(Self.isBelowUnsent))",
                [hasMore, Self.heldBack])
        }
        let parents = try Int64.fetchAll(
            db.cachedStatement(sql: "SELECT DISTINCT parentTable FROM optimist_parked WHERE parentTable IS NOT NULL"))
        for parent in parents {
            guard let table = tables[parent] else { continue }
            ready += try take(
                """
                parentTable = \(parent) AND EXISTS (SELECT 1 FROM \(table.layout.quotedName) p \
                WHERE p.id = optimist_parked.parent)
                """)
        }
        return ready
    }

    func takeHeldBack() throws -> [ReceivedRow] { try take("reason = ?", [Self.heldBack]) }

    /// Parked rows without a transaction of the server's that have unsent edits.
    ///
    /// - Complexity: As long as little is unsent, one look at the index of what waits for each row of that. Otherwise all that
    ///   waits is read.
    func editedWithoutVersion() throws -> [ReceivedRow] {
        let unsent = try Int.fetchOne(
            db.cachedStatement(
                sql: "SELECT count(*) FROM (SELECT 1 FROM optimist_row WHERE pending IS NOT NULL LIMIT \(Self.few))"))
        guard unsent == Self.few else {
            return try fetch(
                """
                rowid IN (SELECT p.rowid FROM optimist_row r CROSS JOIN optimist_parked p ON p.tbl = r.tbl AND p.id = r.id \
                WHERE r.pending IS NOT NULL) AND seq = 0
                """)
        }
        return try fetch(
            """
            seq = 0 AND EXISTS (SELECT 1 FROM optimist_row r WHERE r.tbl = optimist_parked.tbl \
            AND r.id = optimist_parked.id AND r.pending IS NOT NULL)
            """)
    }

    private static let few = 100

    /// Takes out the parked rows that wait for some others, or for one that does.
    func take(awaiting others: Set<RowRef>) throws -> [ReceivedRow] {
        var found: [ReceivedRow] = []
        var next = Array(others)
        while let parent = next.popLast() {
            let waiting = try take("parentTable = ? AND parent = ?", [parent.table, parent.id])
            found += waiting
            next += waiting.map(\.ref)
        }
        return found
    }

    private func take(_ condition: String, _ values: StatementArguments = StatementArguments()) throws -> [ReceivedRow]
    {
        let rows = try fetch(condition, values)
        for row in rows { try remove(row.ref) }
        return rows
    }

    private func fetch(_ condition: String, _ values: StatementArguments = StatementArguments()) throws -> [ReceivedRow]
    {
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT tbl, id, row FROM optimist_parked WHERE \(condition) ORDER BY seq"),
            arguments: values)
        return rows.compactMap { row in
            Self.content(row[2]).map {
                ReceivedRow(ref: RowRef(table: row[0], id: row[1]), content: $0, hasWaited: true)
            }
        }
    }

    // MARK: - Coding

    private static func wire(_ content: PageRow.Content) -> JSON {
        switch content {
        case .row(let patch): .object(patch.json(id: ""))
        case .deleted(let tombstone): tombstone.json
        }
    }

    private static func content(_ text: String) -> PageRow.Content? {
        guard let json = (try? JSON(parsing: text.utf8))?.object else { return nil }
        return json["id"] != nil
            ? RowPatch(json: json).map(PageRow.Content.row)
            : Tombstone(json: .object(json)).map(PageRow.Content.deleted)
    }
}

extension PageRow.Content {
    /// The life of the row that it tells of, and the server's transaction. Zero: it tells of a part of the row only.
    var version: (life: Int, seq: Int64) {
        switch self {
        case .row(let patch): (patch.generation ?? 1, patch.seq ?? 0)
        case .deleted(let tombstone): (tombstone.generation, tombstone.seq ?? 0)
        }
    }
}
