// This source file is part of the Optimist open source project, under the MIT licence.

/// Judges counters: every addition counts exactly once (M3).
///
/// Rows that may have merged are counted together. Deleted rows are left out.
struct CounterJudge {
    let history: History
    let server: [RowName: Values]
    let refused: [RowName: [Refused]]
    let journaled: [RowName: Int64]
    let fates: Fates
    let hasForgotten: Bool

    func findings() -> [String] {
        var judged: Set<RowName> = []
        var findings: [String] = []
        for row in history.byRow.keys.sorted() where !judged.contains(row) {
            guard let counter = Tables.columns[row.table]?.first(where: { $0.kind == .counter }) else { continue }
            let rows = fates.namesakes(of: row)
            judged.formUnion(rows)
            guard rows.allSatisfy({ !wasDeleted($0) && refused[$0] == nil }) else { continue }
            // A merged row's count exists only on the server, so a restore may have lost it.
            if rows.count > 1, history.hasServerGoneBack { continue }
            let present = rows.reduce(0) { sum, row in
                sum + ((server[row]?[counter.name] ?? nil).flatMap { Int64($0) } ?? 0)
            }
            var (least, most) = added(to: rows)
            // Purging tombstones also forgets merges, so a device that repeats a create may add its count again.
            if rows.count > 1, hasForgotten { most = .max }
            guard rows.contains(where: { server[$0] != nil }), !(least...most).contains(present) else { continue }
            let name = rows.sorted().map(\.description).joined(separator: "+")
            findings.append("miscounted: \(name).\(counter.name) is \(present), but \(least) to \(most) was added")
        }
        return findings
    }

    private func wasDeleted(_ row: RowName) -> Bool {
        history.writes(of: row).contains { $0.write.deleted.contains(row) }
    }

    /// Returns the amount that was certainly added, and the most that writes of unknown outcome may have added.
    private func added(to rows: Set<RowName>) -> (least: Int64, most: Int64) {
        var (least, most): (Int64, Int64) = (0, 0)
        for row in rows {
            for (_, write) in history.writes(of: row) {
                let count = write.counts[row] ?? 0
                most += count
                if write.hasReturned { least += count }
            }
            least -= journaled[row] ?? 0
        }
        return (least, most)
    }
}
