// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Joins groups that wait for each other's rows (S2). Otherwise they would wait forever.
///
/// A row that is written again stays in its first group. So two groups may end up with references to each other.
struct GroupCycles {
    private let entries: RowEntryTable
    private let tables: AppTables
    private var db: Database { entries.db }

    init(_ entries: RowEntryTable, _ tables: AppTables) {
        self.entries = entries
        self.tables = tables
    }

    /// Joins the groups of every cycle, and lets their rows be sent again.
    func unite() throws {
        let waits = try waits()
        let cycles = waits.flatMap { group, others in
            others.filter { Self.reaches(group, from: $0, by: waits) }.map { GroupJoin(group, $0) }
        }
        if cycles.isEmpty { return }
        try GroupJoins(db).insert(Set(cycles))
        let united = try GroupJoins(db).united()
        for group in Set(cycles.flatMap { united.united(with: $0.a) ?? [] }) {
            try db.execute(
                sql: "UPDATE optimist_edit SET due = NULL, blocked = NULL WHERE grp = ? AND blocked IS NOT NULL",
                arguments: [group])
        }
    }

    /// The unsent groups that each group waits for.
    private func waits() throws -> [Int64: Set<Int64>] {
        let united = try GroupJoins(db).united()
        let blocked = try Row.fetchAll(
            db, sql: "SELECT DISTINCT grp, blocked FROM optimist_edit WHERE blocked IS NOT NULL")
        var waits: [Int64: Set<Int64>] = [:]
        for row in blocked {
            guard let owner = tables.ref(named: row[1]), let group = try entries.entry(owner)?.local?.group else {
                continue
            }
            let (a, b) = (united.leader(of: row[0]), united.leader(of: group.rawValue))
            if a != b { waits[a, default: []].insert(b) }
        }
        return waits
    }

    private static func reaches(_ goal: Int64, from start: Int64, by waits: [Int64: Set<Int64>]) -> Bool {
        var (met, next): (Set<Int64>, [Int64]) = ([start], [start])
        while let group = next.popLast() {
            if group == goal { return true }
            next += (waits[group] ?? []).filter { met.insert($0).inserted }
        }
        return false
    }
}
