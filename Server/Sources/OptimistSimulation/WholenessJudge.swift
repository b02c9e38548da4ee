// This source file is part of the Optimist open source project, under the MIT licence.

/// Judges that transactions reach the server completely or not at all (S2, V5).
///
/// Rows that other devices edited are skipped, because their owner may have changed. Rows below a refused row are
/// skipped as well.
struct WholenessJudge {
    let history: History

    /// - Parameter news: The writes that have just reached the server, at least in part.
    func findings(_ news: Set<Int>) -> [String] {
        news.sorted().compactMap { number in
            let write = history.writes[number]
            let refused = write.cells.filter { $0.value.values.contains(where: Self.isRefused) }.keys
            for (row, values) in write.cells.sorted(by: { $0.key < $1.key }) where !refused.contains(row) {
                guard isOnlyIts(row, number), !refersToTouched(row, number) else { continue }
                for (column, value) in values.sorted(by: { $0.key < $1.key })
                where Tables.column(column, of: row.table)?.kind == .text
                    && history.present[row]?[column] != .some(value)
                {
                    return "torn: a part of a transaction of device \(write.device) is on the server, "
                        + "but not \(row).\(column) = \(value ?? "null")"
                }
            }
            return nil
        }
    }

    private static func isRefused(_ value: String?) -> Bool { value?.hasPrefix(Refusals.prefix) == true }

    private func isOnlyIts(_ row: RowName, _ number: Int) -> Bool { history.byRow[row] == [number] }

    /// Whether another write changed a row or any ancestor, so that a cascade may have deleted it.
    private func refersToTouched(_ row: RowName, _ number: Int) -> Bool {
        var met: Set<RowName> = [row]
        var next = [row]
        while let row = next.popLast() {
            for target in targets(of: row, number) where met.insert(target).inserted {
                if isTouched(target, number) { return true }
                next.append(target)
            }
        }
        return false
    }

    private func targets(of row: RowName, _ number: Int) -> [RowName] {
        (history.writes[number].cells[row] ?? [:]).compactMap { column, value in
            Tables.target(of: value, in: column, of: row.table)
        }
    }

    private func isTouched(_ row: RowName, _ number: Int) -> Bool {
        history.writes(of: row).contains { entry in
            !entry.write.deleted.isEmpty || entry.number != number
                || entry.write.cells.values.contains { $0.values.contains(where: Self.isRefused) }
        }
    }
}
