// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// No user's words vanish unseen (M7).
///
/// A text that is gone in the end was replaced or deleted on a device whose table showed it, or the device that wrote it
/// keeps it, in its journal or in a rejection.
struct UnseenJudge {
    let history: History
    /// The server's living rows.
    let server: [RowName: Values]
    /// The texts in the journals and the rejections of the devices, by device.
    let kept: [Int: [RowName: Set<String>]]

    func findings() -> [String] {
        // A server that went back has lost what it knew of replaced values. A device that went back has lost its journal.
        if history.hasServerGoneBack { return [] }
        return history.writes.filter { $0.hasReturned && !history.restored.contains($0.device) }.flatMap { write in
            texts(of: write).filter { hasVanished($0) }.map { text in
                "unseen: \(text.row).\(text.column) = \(text.value) of device \(write.device) is gone, "
                    + "no device that replaced it had it, and it is in no journal"
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
        // Equal values are no conflict (M5). If two devices wrote the same text, the later one hears of its end.
        return !history.writes(of: text.row).contains { _, write in
            let wrote = write.cells[text.row]?[text.column] == .some(text.value)
            return wrote && kept[write.device]?[text.row]?.contains(text.value) == true || wasShown(text, to: write)
        }
    }

    /// Whether a write replaced or deleted a text that its device showed. An app of the first version cannot show every
    /// column of a row that it deletes.
    private func wasShown(_ text: Text, to write: History.Write) -> Bool {
        guard let before = write.replaced[text.row] else { return false }
        if let value = before[text.column] { return value == text.value }
        return write.deleted.contains(text.row)
    }
}

extension World {
    /// The texts that the journal and the rejections keep.
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
