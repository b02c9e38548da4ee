// This source file is part of the Optimist open source project, under the MIT licence.

/// Compares the server with the oracle. Each finding names the rule that is broken.
extension Oracle {
    /// Judges a transaction of the server: values come from users (M1), deleted rows stay deleted (M2), and a user's
    /// transaction arrives completely (S2, V5).
    func findings(on versions: [ServerLog.Version]) -> [String] {
        let cells = versions.flatMap(\.changed).sorted { ($0.row, $0.column) < ($1.row, $1.column) }
        let back = versions.filter { $0.row.values != nil && $0.endsLife && !mayLiveAgain($0) }
        return cells.filter { !isWritten($0) }.map { "invented: \($0) (M1)" }
            + back.map { "back again: \($0.row.name), which a device deleted (M2)" }
            + Set(cells.compactMap(history.author)).sorted().compactMap(findTorn)
    }

    private func findTorn(_ number: Int) -> String? {
        let write = history.writes[number]
        let missing = write.sortedCells.first { !history.log.had($0) && !mayLack($0, of: number) }
        return missing.map {
            "torn: a part of a transaction of device \(write.device) is on the server, but not \($0) (S2)"
        }
    }

    /// Judges the end of a world.
    func findings() -> [String] {
        history.writes.indices.filter { history.writes[$0].hasReturned }.flatMap { number in
            let write = history.writes[number]
            let back = write.deleted.sorted().filter { isBack($0, of: number) }
            return write.sortedCells.compactMap { finding(on: $0, of: number) }
                + back.map { "back again: \($0), which device \(write.device) deleted at \(write.at) ms (M2)" }
        } + findMiscounted()
    }

    private func finding(on cell: Cell, of number: Int) -> String? {
        let device = history.writes[number].device
        let present = history.log.present[cell.row]
        if present?[cell.column] == .some(cell.value) { return nil }
        if !mayLack(cell, of: number) {
            return "lost: \(cell) of device \(device): the server has \(World.text(present)) (M1)"
        }
        if !hasVanishedUnseen(cell, of: number) { return nil }
        return
            "unseen: \(cell) of device \(device) is gone, no device that replaced it had it, and it is in no journal (M7)"
    }

    // MARK: - Unseen

    /// Whether a user's text vanished unseen: no device that showed it replaced or deleted it, and no author's device
    /// keeps it.
    ///
    /// A restored server has lost its record of replaced values, and a restored device has lost its journal.
    private func hasVanishedUnseen(_ cell: Cell, of number: Int) -> Bool {
        guard cell.isText, let text = cell.value, let kept else { return false }
        if history.log.hasGoneBack || hasForgotten || history.restored.contains(history.writes[number].device) {
            return false
        }
        return !history.writes(of: cell.row).contains { _, write in
            // If two devices wrote the same text, only the later one keeps it (M5).
            let isAuthor = write.cells[cell.row]?[cell.column] == .some(text)
            return isAuthor && kept.texts[write.device]?[cell.row]?.contains(text) == true || wasShown(cell, to: write)
        }
    }

    /// The app's first version does not show every column.
    private func wasShown(_ cell: Cell, to write: History.Write) -> Bool {
        guard let before = write.replaced[cell.row] else { return false }
        return before[cell.column].map { $0 == cell.value } ?? write.deleted.contains(cell.row)
    }

    // MARK: - Counters

    /// Every addition counts once (M3). Merged rows are counted together. Deleted and refused rows are left out.
    private func findMiscounted() -> [String] {
        var judged: Set<RowName> = []
        return history.byRow.keys.sorted().compactMap { row in
            guard let counter = Tables.counter(of: row.table), !judged.contains(row) else { return nil }
            let rows = history.log.merged(with: row)
            judged.formUnion(rows)
            let isLeftOut = rows.contains { row in
                kept?.refused[row] != nil || history.writes(of: row).contains { $0.write.deleted.contains(row) }
            }
            if isLeftOut || rows.count > 1 && history.log.hasGoneBack { return nil }
            let present = rows.compactMap { history.log.present[$0]?[counter] ?? nil }.compactMap { Int64($0) }
            let (sum, added) = (present.reduce(0, +), added(to: rows))
            if present.isEmpty || added.contains(sum) { return nil }
            let names = rows.sorted().map(\.description).joined(separator: "+")
            return "miscounted: \(names).\(counter) is \(sum), and \(added) was added (M3)"
        }
    }

    /// From the sum of the certain additions to the sum of all attempted additions. When the server forgets old
    /// deletions, it also forgets which rows were merged, and a repeated create counts again (M6).
    private func added(to rows: Set<RowName>) -> ClosedRange<Int64> {
        var (least, most): (Int64, Int64) = (0, 0)
        for row in rows {
            for (_, write) in history.writes(of: row) {
                most += write.counts[row] ?? 0
                if write.hasReturned { least += write.counts[row] ?? 0 }
            }
            least -= kept?.counts[row] ?? 0
        }
        return least...(rows.count > 1 && hasForgotten ? .max : most)
    }
}
