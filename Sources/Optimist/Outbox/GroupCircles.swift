// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Groups that wait for rows of each other would do so for ever: together they are sent as one (S2).
struct GroupCircles {
    private let entries: RowEntryTable
    private let tables: AppTables
    private var db: Database { entries.db }

    init(_ entries: RowEntryTable, _ tables: AppTables) {
        self.entries = entries
        self.tables = tables
    }

    /// Each transaction finds its parents where they are, but a row that is written again stays with the group that it began
    /// in. So a group may come to refer to a later one, and that to it.
    func unite() throws {
        let waits = try waits()
        let circles = waits.flatMap { group, others in
            others.filter { Self.reaches(group, from: $0, by: waits) }.map { GroupJoin(group, $0) }
        }
        if circles.isEmpty { return }
        try GroupJoins(db).insert(Set(circles))
        let united = try GroupJoins(db).united()
        for group in Set(circles.flatMap { united.united(with: $0.a) ?? [] }) {
            try db.execute(
                sql: "UPDATE optimist_row SET due = NULL, blocked = NULL WHERE pending = ? AND blocked IS NOT NULL",
                arguments: [group])
        }
    }

    /// Which groups wait for which other ones that are unsent.
    private func waits() throws -> [Int64: Set<Int64>] {
        let united = try GroupJoins(db).united()
        let blocked = try Row.fetchAll(
            db,
            sql: "SELECT DISTINCT pending, blocked FROM optimist_row WHERE blocked IS NOT NULL AND pending IS NOT NULL")
        var waits: [Int64: Set<Int64>] = [:]
        for row in blocked {
            guard let owner = tables.ref(named: row[1]), let group = try entries.entry(owner)?.pending else { continue }
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
