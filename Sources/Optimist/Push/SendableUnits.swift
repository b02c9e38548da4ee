// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// From some tables, reads the pending rows that may be sent now, in units, oldest group first.
struct SendableUnits {
    private let db: Database
    private let entries: RowEntryTable
    private let milliseconds: Int64
    private let layouts: [TableLayout]
    private let withheld: Set<Int64>
    /// Parents first.
    private let ranks: [Int64: Int]
    private let index: String?

    /// - Parameter withheld: Tables that do not sync now. Units with a row in such a table wait.
    init(_ db: Database, at milliseconds: Int64, of layouts: [TableLayout], withheld: [TableLayout] = []) throws {
        self.db = db
        self.milliseconds = milliseconds
        self.layouts = layouts
        self.withheld = Set(withheld.map(\.number))
        ranks = ReferenceGraph(layouts).ranks
        entries = try RowEntryTable(db)
        index = try SendingOrder(db).index
    }

    /// Returns units with about `limit` rows in all, and at least one unit if there is any.
    func next(limit: Int) throws -> [[RowEntry]] {
        var scan = UnitScan(try GroupJoins(db).united(), limit: limit, isPostponed: isPostponed)
        var after: Int64? = .min
        var units: [[RowEntry]] = []
        // A joined or large group may have nothing to send now.
        while let start = after, units.isEmpty {
            let isAtEnd = try take(after: start, &scan)
            let (gathered, last) = scan.end()
            for unit in gathered { units += try read(unit, limit: limit) }
            after = isAtEnd ? nil : last
        }
        return units
    }

    /// - Returns: Whether all rows were read.
    private func take(after group: Int64, _ scan: inout UnitScan) throws -> Bool {
        let statement = try RowStatement(Self.scanSQL(of: layouts, by: index), in: db)
        var isAtEnd = true
        try statement.scan([group.databaseValue]) { row in
            isAtEnd = scan.take(try entries.decode(row))
            return isAtEnd
        }
        return isAtEnd
    }

    /// In milliseconds since 1970. Nil if no row is postponed.
    func nextDue() throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT min(due) FROM optimist_edit WHERE due > ?"),
            arguments: [milliseconds])
    }

    /// If a row is due in more than two days, the clock was set back, and the row may be sent.
    private func isPostponed(_ entry: RowEntry) -> Bool {
        if withheld.contains(entry.ref.table) { return true }
        guard let due = entry.local?.due else { return false }
        return due > milliseconds && due <= milliseconds + Self.longestPause
    }

    private static let longestPause: Int64 = 2 * 24 * 60 * 60 * 1000

    /// The `+` keeps SQLite from searching table by table, so that it need not sort if the index of ``SendingOrder``
    /// exists.
    static func scanSQL(of layouts: [TableLayout], by index: String?) -> String {
        RowEntryTable.edits(by: index, where: "l.grp > ?1 AND \(isOf(layouts)) ORDER BY l.grp, l.tbl, l.place")
    }

    private static func isOf(_ layouts: [TableLayout]) -> String {
        "+l.tbl IN (\(layouts.map { String($0.number) }.joined(separator: ", ")))"
    }

    // MARK: - Units with scattered rows

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

    private func inOrder(_ rows: [RowEntry]) -> [RowEntry] {
        rows.sorted {
            (ranks[$0.ref.table] ?? 0, $0.local?.place ?? 0) < (ranks[$1.ref.table] ?? 0, $1.local?.place ?? 0)
        }
    }

    /// Splits an oversized group into rows and cycles, parents first. Deletions come last, children first.
    private func singles(of groups: [Int64], limit: Int) throws -> [[RowEntry]] {
        let tables = layouts.map(\.number).filter { !withheld.contains($0) }
            .sorted { (ranks[$0] ?? 0, $0) < (ranks[$1] ?? 0, $1) }
        // A waiting row may still move away from a deleted row. If the deletion went first, the server would delete the
        // waiting row too.
        if try !rows(of: groups, "\(Self.isOf(layouts)) AND l.generation & 1 = 1 LIMIT ?2", [1]).isEmpty {
            return try living(limit, of: groups, tables)
        }
        return try first(limit, of: groups, tables.reversed(), "l.generation & 1 = 0", "DESC").map { [$0] }
    }

    private func living(_ limit: Int, of groups: [Int64], _ tables: [Int64]) throws -> [[RowEntry]] {
        let cycles = UnsentCycles(entries, layouts)
        var count = limit
        while true {
            let rows = try first(count, of: groups, tables, "l.generation & 1 = 1", "ASC")
            let units = try cycles.units(of: rows, in: groups).filter { !$0.contains(where: isPostponed) }
            if !units.isEmpty || rows.count < count { return units.map(inOrder) }
            count *= 4
        }
    }

    /// The first sendable rows of some groups, table by table. For one group, the index of ``SendingOrder`` yields
    /// exactly these rows in order.
    private func first(
        _ limit: Int, of groups: [Int64], _ tables: [Int64], _ condition: String, _ direction: String
    ) throws -> [RowEntry] {
        let due = "(l.due IS NULL OR l.due <= ?3 OR l.due > ?4)"
        let times = [Int(milliseconds), Int(milliseconds + Self.longestPause)]
        var found: [RowEntry] = []
        for table in tables where found.count < limit {
            found += try rows(
                of: groups, "l.tbl = \(table) AND \(condition) AND \(due) ORDER BY l.place \(direction) LIMIT ?2",
                [limit - found.count] + times)
        }
        return found
    }

    private func rows(of groups: [Int64], _ rest: String, _ values: [Int]) throws -> [RowEntry] {
        let isOne = groups.count == 1
        let list = isOne ? groups[0].databaseValue : JSON.array(groups.map { .int($0) }).description.databaseValue
        var rows: [RowEntry] = []
        let statement = try RowStatement(
            RowEntryTable.edits(
                by: index, where: "l.grp \(isOne ? "= ?1" : "IN (SELECT value FROM json_each(?1))") AND \(rest)"),
            in: db)
        try statement.forEach([list] + values.map(\.databaseValue)) { rows.append(try entries.decode($0)) }
        return rows
    }
}
