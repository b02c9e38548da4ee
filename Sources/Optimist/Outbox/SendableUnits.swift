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
    /// Parents have lower ones.
    private let ranks: [Int64: Int]

    /// - Parameter withheld: The tables that wait for a better network, and so do the units with a row of theirs.
    init(_ db: Database, at milliseconds: Int64, of layouts: [TableLayout], withheld: [TableLayout] = []) throws {
        self.db = db
        self.milliseconds = milliseconds
        self.layouts = layouts
        self.withheld = Set(withheld.map(\.number))
        ranks = ReferenceGraph(layouts).ranks
        entries = try RowEntryTable(db)
    }

    /// The next units, of about as many rows as are asked for: at least one unit, if there is any.
    func next(limit: Int) throws -> [[RowEntry]] {
        var scan = UnitScan(try GroupJoins(db).united(), limit: limit, isPostponed: isPostponed)
        var after: Int64? = .min
        var units: [[RowEntry]] = []
        // Groups that are read by themselves do not hold up those behind them while none of their rows may be sent.
        while let start = after, units.isEmpty {
            let isAtEnd = try take(after: start, &scan)
            let (gathered, last) = scan.end()
            for unit in gathered { units += try read(unit, limit: limit) }
            after = isAtEnd ? nil : last
        }
        return units
    }

    /// - Returns: Whether there are no more rows.
    private func take(after group: Int64, _ scan: inout UnitScan) throws -> Bool {
        let statement = try RowStatement(Self.scanSQL(of: layouts), in: db)
        var isAtEnd = true
        try statement.scan([group.databaseValue]) { row in
            isAtEnd = scan.take(try entries.decode(row))
            return isAtEnd
        }
        return isAtEnd
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
        WHERE pending IS NOT NULL AND pending > ?1 AND \(isOf(layouts)) ORDER BY pending, tbl, key
        """
    }

    private static func isOf(_ layouts: [TableLayout]) -> String {
        "+tbl IN (\(layouts.map { String($0.number) }.joined(separator: ", ")))"
    }

    // MARK: - Units that do not stand together

    private func read(_ unit: UnitScan.Unit, limit: Int) throws -> [[RowEntry]] {
        switch unit {
        case .rows(let rows): return [inOrder(rows)]
        case .large(let groups): return try singles(of: groups, limit: limit)
        case .united(let groups):
            let rows = try rows(of: groups, "\(Self.isOf(layouts)) LIMIT ?2", [UnitScan.maxRows + 1])
            if rows.count > UnitScan.maxRows { return try singles(of: groups, limit: limit) }
            return rows.isEmpty || rows.contains(where: isPostponed) ? [] : [inOrder(rows)]
        }
    }

    /// Parents before children, and otherwise as they were written.
    private func inOrder(_ rows: [RowEntry]) -> [RowEntry] {
        rows.sorted { (ranks[$0.ref.table] ?? 0, $0.key ?? 0) < (ranks[$1.ref.table] ?? 0, $1.key ?? 0) }
    }

    /// The rows of a group that is too large to be sent whole. Each is a unit of its own, except for circles. Parents
    /// come before children; deletions come last, children before parents.
    private func singles(of groups: [Int64], limit: Int) throws -> [[RowEntry]] {
        let tables = layouts.map(\.number).filter { !withheld.contains($0) }
            .sorted { (ranks[$0] ?? 0, $0) < (ranks[$1] ?? 0, $1) }
        // A row that waits may still move away from a row that is deleted, and would be deleted with it.
        if try !rows(of: groups, "\(Self.isOf(layouts)) AND generation & 1 = 1 LIMIT ?2", [1]).isEmpty {
            return try living(limit, of: groups, tables)
        }
        return try first(limit, of: groups, tables.reversed(), "generation & 1 = 0", "DESC").map { [$0] }
    }

    private func living(_ limit: Int, of groups: [Int64], _ tables: [Int64]) throws -> [[RowEntry]] {
        let circles = UnsentCircles(entries, layouts)
        var count = limit
        while true {
            let rows = try first(count, of: groups, tables, "generation & 1 = 1", "ASC")
            let units = try circles.units(of: rows, in: groups).filter { !$0.contains(where: isPostponed) }
            // Those that wait for another one of their circle do not hold up those behind them.
            if !units.isEmpty || rows.count < count { return units.map(inOrder) }
            count *= 4
        }
    }

    /// The first rows of some groups that may be sent now, table by table. Within one group each table's rows come in
    /// the order of their keys by themselves, and are found without the others.
    private func first(
        _ limit: Int, of groups: [Int64], _ tables: [Int64], _ condition: String, _ direction: String
    ) throws -> [RowEntry] {
        let due = "(due IS NULL OR due <= ?3 OR due > ?4)"
        let times = [Int(milliseconds), Int(milliseconds + Self.longestPause)]
        var found: [RowEntry] = []
        for table in tables where found.count < limit {
            found += try rows(
                of: groups, "tbl = \(table) AND \(condition) AND \(due) ORDER BY key \(direction) LIMIT ?2",
                [limit - found.count] + times)
        }
        return found
    }

    private func rows(of groups: [Int64], _ rest: String, _ values: [Int]) throws -> [RowEntry] {
        let isOne = groups.count == 1
        let list = isOne ? groups[0].databaseValue : JSON.array(groups.map { .int($0) }).description.databaseValue
        var rows: [RowEntry] = []
        let statement = try RowStatement(
            """
            SELECT \(RowEntryTable.columns) FROM optimist_row
            WHERE pending \(isOne ? "= ?1" : "IN (SELECT value FROM json_each(?1))") AND \(rest)
            """, in: db)
        try statement.forEach([list] + values.map(\.databaseValue)) { rows.append(try entries.decode($0)) }
        return rows
    }
}
