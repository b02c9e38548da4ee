// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Reads the pending rows of some tables that may be sent now, in units, oldest group first.
struct SendableUnits {
    private let db: Database
    private let entries: RowEntryTable
    private let milliseconds: Int64
    private let layouts: [TableLayout]
    private let withheld: Set<Int64>

    /// - Parameter withheld: The tables that wait for a better network, and so do the units with a row of theirs.
    init(_ db: Database, at milliseconds: Int64, of layouts: [TableLayout], withheld: [TableLayout] = []) throws {
        self.db = db
        self.milliseconds = milliseconds
        self.layouts = layouts
        self.withheld = Set(withheld.map(\.number))
        entries = try RowEntryTable(db)
    }

    /// The next units, of about as many rows as are asked for: at least one unit, if there is any.
    func next(limit: Int) throws -> [[RowEntry]] {
        let groups = try GroupJoins(db).united()
        var after: Int64? = .min
        var units: [[RowEntry]] = []
        // A large group of which nothing may be sent yet does not hold up those behind it.
        while let start = after, units.isEmpty {
            let scan = try scan(after: start, groups, limit: limit)
            for unit in scan.units { units += try read(unit, limit: limit) }
            after = scan.lastLarge
        }
        return units
    }

    private func scan(after group: Int64, _ groups: UnitedGroups, limit: Int) throws -> UnitScan {
        var scan = UnitScan(groups, limit: limit, isPostponed: isPostponed)
        let statement = try RowStatement(Self.scanSQL(of: layouts), in: db)
        var isAtEnd = true
        try statement.scan([group.databaseValue]) { row in
            isAtEnd = scan.take(try entries.decode(row))
            return isAtEnd
        }
        if isAtEnd { scan.end() }
        return scan
    }

    /// When the next postponed row is due, in milliseconds since 1970. Nil: none is.
    func nextDue() throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT min(due) FROM optimist_row WHERE pending IS NOT NULL AND due > ?"),
            arguments: [milliseconds])
    }

    /// A row that is postponed by more than two days was so by a clock that has been set back since: it may go.
    private func isPostponed(_ entry: RowEntry) -> Bool {
        if withheld.contains(entry.ref.table) { return true }
        guard let due = entry.due else { return false }
        return due > milliseconds && due <= milliseconds + Self.longestPause
    }

    private static let longestPause: Int64 = 2 * 24 * 60 * 60 * 1000

    /// The `+` keeps SQLite from seeking by table: it would then read and sort all rows of it, not those that are pending.
    static func scanSQL(of layouts: [TableLayout]) -> String {
        """
        SELECT \(RowEntryTable.columns) FROM optimist_row
        WHERE pending IS NOT NULL AND pending > ?1 AND \(isOf(layouts)) ORDER BY pending, key
        """
    }

    private static func isOf(_ layouts: [TableLayout]) -> String {
        "+tbl IN (\(layouts.map { String($0.number) }.joined(separator: ", ")))"
    }

    // MARK: - Units that do not stand together

    private func read(_ unit: UnitScan.Unit, limit: Int) throws -> [[RowEntry]] {
        switch unit {
        case .rows(let rows): return [rows]
        case .large(let groups): return try singles(of: groups, limit: limit)
        case .united(let groups):
            let rows = try rows(of: groups, "ORDER BY key LIMIT ?2", [UnitScan.maxRows + 1])
            if rows.count > UnitScan.maxRows { return try singles(of: groups, limit: limit) }
            return rows.isEmpty || rows.contains(where: isPostponed) ? [] : [rows]
        }
    }

    /// The rows of a group that is too large to go whole, each a unit of its own: parents before children, as they were
    /// written, and what is deleted at the end, children before parents.
    private func singles(of groups: [Int64], limit: Int) throws -> [[RowEntry]] {
        let waiting = withheld.sorted().map(String.init).joined(separator: ", ")
        let due = "(due IS NULL OR due <= ?3 OR due > ?4) AND tbl NOT IN (\(waiting))"
        let values = [limit, Int(milliseconds), Int(milliseconds + Self.longestPause)]
        let alive = try rows(of: groups, "AND generation & 1 = 1 AND \(due) ORDER BY key LIMIT ?2", values)
        if !alive.isEmpty { return alive.map { [$0] } }
        return try rows(
            of: groups, "AND generation & 1 = 0 AND \(due) ORDER BY \(rank) DESC, key DESC LIMIT ?2", values
        ).map { [$0] }
    }

    /// How many tables a row's table refers to, in a row: parents have lower ones.
    private var rank: String {
        let ranks = ReferenceGraph(layouts).ranks.sorted { $0.key < $1.key }
        return "CASE tbl \(ranks.map { "WHEN \($0.key) THEN \($0.value)" }.joined(separator: " ")) END"
    }

    /// Of one group the rows come in the order of their keys by themselves: the first ones are found without the others.
    private func rows(of groups: [Int64], _ rest: String, _ values: [Int]) throws -> [RowEntry] {
        let isOne = groups.count == 1
        let list = isOne ? groups[0].databaseValue : JSON.array(groups.map { .int($0) }).description.databaseValue
        var rows: [RowEntry] = []
        let statement = try RowStatement(
            """
            SELECT \(RowEntryTable.columns) FROM optimist_row
            WHERE pending \(isOne ? "= ?1" : "IN (SELECT value FROM json_each(?1))") AND \(Self.isOf(layouts)) \(rest)
            """, in: db)
        try statement.forEach([list] + values.map(\.databaseValue)) { rows.append(try entries.decode($0)) }
        return rows
    }
}
