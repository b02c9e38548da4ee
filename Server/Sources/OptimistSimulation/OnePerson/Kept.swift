// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The values that devices keep in their journals and rejections.
struct Kept {
    /// The texts that each device keeps of a row.
    private(set) var texts: [Int: [RowName: Set<String>]] = [:]
    private(set) var refused: [RowName: [Values]] = [:]
    /// The counts that were lost with their rows.
    private(set) var counts: [RowName: Int64] = [:]

    private static let sql = """
        SELECT t.name, k.id, k.mine, k.isRefused FROM (
            SELECT tbl, id, mine, 0 AS isRefused FROM optimist_journal
            UNION ALL SELECT tbl, id, whole, 0 FROM optimist_journal WHERE whole IS NOT NULL
            UNION ALL SELECT tbl, id, mine, 1 FROM optimist_rejection
        ) k JOIN optimist_table t ON t.number = k.tbl
        """

    mutating func read(_ db: Database, of device: Int) throws {
        for row in try Row.fetchAll(db, sql: Self.sql) {
            guard let id = Rows.text(row[1]) else { continue }
            let members = try JSON(parsing: (row[2] as String).utf8).object?.members ?? []
            let values = Values(members.map { ($0.key, Rows.text($0.value)) }, uniquingKeysWith: { $1 })
            let counts = members.compactMap { $0.value["@add"]?.int }
            keep(values, counts, of: RowName(table: row[0], id: id), isRefused: row[3], on: device)
        }
    }

    mutating func keep(
        _ values: Values, _ counts: [Int64] = [], of row: RowName, isRefused: Bool, on device: Int
    ) {
        texts[device, default: [:]][row, default: []].formUnion(values.values.compactMap(\.self))
        self.counts[row, default: 0] += counts.reduce(0, +)
        if isRefused { refused[row, default: []].append(values) }
    }

    func refuses(_ cell: Cell) -> Bool {
        refused[cell.row]?.contains { refusal in
            guard let value = refusal[cell.column] else { return false }
            // A reference may have changed before it was sent, because its target was gone.
            return value == cell.value || Tables.isReference(cell.column, of: cell.row.table)
        } == true
    }
}
