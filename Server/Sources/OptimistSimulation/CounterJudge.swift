// This source file is part of the Optimist open source project, under the MIT licence.

/// Counters are exact: what was added, each once (M3).
///
/// Rows that have become one are counted together. Rows that were deleted begin again with nothing, and are left out.
struct CounterJudge {
    let history: History
    let server: [RowName: Values]
    let refused: [RowName: [Refused]]
    let journaled: [RowName: Int64]
    let fates: Fates
    /// Whether the server has forgotten deleted rows.
    let hasForgotten: Bool

    func findings() -> [String] {
        var judged: Set<RowName> = []
        var findings: [String] = []
        for row in history.byRow.keys.sorted() where !judged.contains(row) {
            guard let counter = Tables.columns[row.table]?.first(where: { $0.kind == .counter }) else { continue }
            let rows = fates.namesakes(of: row)
            judged.formUnion(rows)
            guard rows.allSatisfy({ !wasDeleted($0) && refused[$0] == nil }) else { continue }
            // What a row that became one with another had counted is on the server only: a restored one may have lost it.
            if rows.count > 1, history.hasServerGoneBack { continue }
            let present = rows.reduce(0) { sum, row in
                sum + ((server[row]?[counter.name] ?? nil).flatMap { Int64($0) } ?? 0)
            }
            var (least, most) = added(to: rows)
            // The server also does not recognise a row that had become one with another, when the device that made it
            // repeats itself.
            if rows.count > 1, hasForgotten { most = .max }
            guard rows.contains(where: { server[$0] != nil }), !(least...most).contains(present) else { continue }
            let name = rows.sorted().map(\.description).joined(separator: "+")
            findings.append("miscounted: \(name).\(counter.name) is \(present), and \(least) to \(most) was added")
        }
        return findings
    }

    private func wasDeleted(_ row: RowName) -> Bool {
        history.writes(of: row).contains { $0.write.deleted.contains(row) }
    }

    /// The amount that was certainly added, and the amount that writes of unknown outcome may have added.
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
