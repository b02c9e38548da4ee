// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

/// Checks the rows of an app's transaction before it commits, against the column rules and the app's own checks.
///
/// Column rules apply only to written columns, so that the other columns of a row that is older than a rule can still
/// be edited.
struct WrittenRows {
    private let layouts: [Int64: TableLayout]
    private let validation: RowValidation

    init(_ layouts: [TableLayout], _ validation: RowValidation) {
        let judged = layouts.filter { !$0.rules.columns.isEmpty || validation.checks($0.name) }
        self.layouts = Dictionary(judged.map { ($0.number, $0) }, uniquingKeysWith: { $1 })
        self.validation = validation
    }

    var isEmpty: Bool { layouts.isEmpty }

    /// - Throws: `OptimistError` with code `ruleBroken`; `DatabaseError`.
    func check(_ rows: [RowRef], at stamp: Stamp, in db: Database) throws {
        let entries = try RowEntryTable(db)
        var tables: [Int64: AppTable] = [:]
        for ref in rows {
            guard let layout = layouts[ref.table], let entry = try entries.entry(ref), entry.isAlive,
                let edit = entry.local, let id = layout.idForm.wire(ref.id)
            else { continue }
            let table = tables[ref.table] ?? AppTable(layout: layout, db: db)
            tables[ref.table] = table
            let written = layout.columns(in: edit.dirty).map(\.name).filter { edit.clock(of: $0) == .own(stamp) }
            guard !written.isEmpty, let values = try table.values(ref.id) else { continue }
            try check(CheckedRow(type: layout.name, id: id, values: values, changed: Set(written)), of: layout)
        }
    }

    private func check(_ row: CheckedRow, of layout: TableLayout) throws {
        for column in row.changed.sorted() {
            guard let words = layout.rules.columns[column]?.objection(to: row[column]) else { continue }
            throw OptimistError(.ruleBroken, "The column \(row.type).\(column) \(words). Nothing was written.")
        }
        guard let fault = validation.fault(in: row) else { return }
        let place = fault.columns.isEmpty ? row.type : "\(row.type).\(fault.columns.joined(separator: ", "))"
        throw OptimistError(
            .ruleBroken, "\(place) breaks the rule \"\(fault.code)\": \(fault.message) Nothing was written.",
            cause: fault)
    }
}
