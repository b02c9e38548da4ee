// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Judges that no user's text disappears unseen (M7).
///
/// If a text is missing at the end, its author's device must have it in the journal or a rejection, unless a device
/// that showed it has replaced or deleted it.
struct UnseenJudge {
    let history: History
    let server: [RowName: Values]
    /// The texts in each device's journal and rejections.
    let kept: [Int: [RowName: Set<String>]]

    func findings() -> [String] {
        // A restored server has lost its record of replaced values. A restored device has lost its journal.
        if history.hasServerGoneBack { return [] }
        return history.writes.filter { $0.hasReturned && !history.restored.contains($0.device) }.flatMap { write in
            texts(of: write).filter { hasVanished($0) }.map { text in
                "unseen: \(text.row).\(text.column) = \(text.value) of device \(write.device) is gone, "
                    + "no device that replaced it had received it, and it is not in a journal"
            }
        }
    }

    private struct Text {
        let row: RowName
        let column: String
        let value: String
    }

    private func texts(of write: History.Write) -> [Text] {
        write.cells.sorted { $0.key < $1.key }.flatMap { row, cells in
            cells.sorted { $0.key < $1.key }.compactMap { column, value in
                guard let value, Tables.column(column, of: row.table)?.kind == .text else { return nil }
                return Text(row: row, column: column, value: value)
            }
        }
    }

    private func hasVanished(_ text: Text) -> Bool {
        if server[text.row]?[text.column] == .some(text.value) { return false }
        // Equal values do not conflict (M5). If two devices wrote the same text, only the later one is notified.
        return !history.writes(of: text.row).contains { _, write in
            let wrote = write.cells[text.row]?[text.column] == .some(text.value)
            return wrote && kept[write.device]?[text.row]?.contains(text.value) == true || wasShown(text, to: write)
        }
    }

    /// Whether a write replaced or deleted a text that its device showed. The app's first version does not show every
    /// column.
    private func wasShown(_ text: Text, to write: History.Write) -> Bool {
        guard let before = write.replaced[text.row] else { return false }
        if let value = before[text.column] { return value == text.value }
        return write.deleted.contains(text.row)
    }
}

extension World {
    static func keptTexts(_ db: Database) throws -> [(RowName, String)] {
        let kept = try Row.fetchAll(
            db,
            sql: """
                SELECT t.name, k.id, k.words FROM (
                    SELECT tbl, id, mine AS words FROM optimist_journal
                    UNION ALL SELECT tbl, id, whole FROM optimist_journal WHERE whole IS NOT NULL
                    UNION ALL SELECT tbl, id, mine FROM optimist_rejection
                ) k JOIN optimist_table t ON t.number = k.tbl
                """)
        return try kept.flatMap { row -> [(RowName, String)] in
            guard let id = Rows.text(row[1]) else { return [] }
            let words = try JSON(parsing: (row[2] as String).utf8).object?.members ?? []
            return words.compactMap { word in Rows.text(word.value).map { (RowName(table: row[0], id: id), $0) } }
        }
    }
}
