// This source file is part of the Optimist open source project, under the MIT licence.

/// Compares the end of a run with what was written. Every sentence is a broken promise.
struct Judge {
    let history: History
    /// The server's living rows.
    let server: [RowName: Values]
    let clocksAreRight: Bool
    /// The rows with a rejection, on any device.
    let rejected: Set<RowName>

    /// What was lost, brought back or invented.
    func findings() -> [String] {
        var findings: [String] = []
        for (number, write) in history.writes.enumerated() where write.hasReturned {
            for (row, cells) in write.cells.sorted(by: { $0.key < $1.key }) {
                for (column, value) in cells.sorted(by: { $0.key < $1.key }) {
                    if let reason = loss(of: value, column, row, number, write) {
                        findings.append(
                            "lost: \(row).\(column) = \(value ?? "null") of device \(write.device): \(reason)")
                    }
                }
            }
            for row in write.deleted.sorted() where isBackForNoReason(row, number, write) {
                findings.append("back again: \(row), which device \(write.device) deleted at \(write.at) ms")
            }
        }
        for (row, values) in server.sorted(by: { $0.key < $1.key }) {
            for (column, value) in values
            where !history.writes(of: row).contains(where: { $0.write.cells[row]?[column] == .some(value) }) {
                findings.append("invented: \(row).\(column) = \(value ?? "null")")
            }
        }
        return findings
    }

    /// Why the end does not explain what became of a value. Nil: it does.
    private func loss(
        of value: String?, _ column: String, _ row: RowName, _ number: Int, _ write: History.Write
    ) -> String? {
        if rejected.contains(row) { return nil }
        if value?.hasPrefix(Refusals.prefix) == true { return lossOfRefused(column, row, number) }
        guard let final = server[row] else {
            return wasDeletedRightly(row, number, write) ? nil : "the row is gone and nobody deleted it"
        }
        guard let last = final[column], last != value else { return nil }
        let others = history.writes(of: row).filter { other in
            other.number != number && other.write.cells[row]?[column] == .some(last)
                && (other.write.device != write.device || other.number > number)
        }
        if others.isEmpty { return "\(last ?? "null") is there, which nobody else wrote" }
        let hasOneLife = !history.writes(of: row).contains { $0.write.deleted.contains(row) }
        // Texts are written once only: there the time of the last writer is known.
        guard clocksAreRight, hasOneLife, let last, last.contains("w") else { return nil }
        return others.contains { $0.write.at >= write.at } ? nil : "\(last) is there, which is older"
    }

    /// A value that the server refuses must end in a rejection, unless it was replaced before it was sent.
    private func lossOfRefused(_ column: String, _ row: RowName, _ number: Int) -> String? {
        let wasReplaced = history.writes(of: row).contains { other in
            other.number != number && (other.write.deleted.contains(row) || other.write.cells[row]?[column] != nil)
        }
        return wasReplaced ? nil : "it was refused without a word"
    }

    private func wasDeletedRightly(_ row: RowName, _ number: Int, _ write: History.Write) -> Bool {
        history.writes(of: row).contains { other in
            other.write.deleted.contains(row) && (other.write.device != write.device || other.number >= number)
        }
    }

    private func isBackForNoReason(_ row: RowName, _ number: Int, _ write: History.Write) -> Bool {
        guard server[row] != nil, !rejected.contains(row) else { return false }
        let deletions = history.writes(of: row).filter { $0.write.deleted.contains(row) }
        // What a device made and deleted before it was sent leaves no trace (S1), and another one may have made it too.
        let wasItsOwn = history.writes(of: row).contains {
            $0.number < number && $0.write.device == write.device && $0.write.inserted.contains(row)
        }
        return !history.writes(of: row).contains { other in
            guard other.write.inserted.contains(row) else { return false }
            return other.write.at >= write.at || (wasItsOwn && other.write.device != write.device)
                || deletions.contains { $0.number != number && $0.write.at <= other.write.at }
        }
    }
}
