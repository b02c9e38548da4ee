// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

/// The layout of a synced table: its number, and what each column holds.
///
/// The engine assigns numbers and bits once and keeps them in the database, so that they outlive migrations of the app.
struct TableLayout: Sendable, Equatable {
    let number: Int64
    let name: String
    let idForm: UUIDForm
    /// The columns in the table's order, without `id` and without generated columns.
    let columns: [Column]
    var rules = SyncRules()
    /// The tables that the table's foreign keys refer to.
    var parents: Set<String> { Set(columns.compactMap { $0.reference?.table }) }

    struct Column: Sendable, Equatable {
        let name: String
        /// The column's bit in the masks of the engine's tables, from 1. Bit 0 stands for the row's life.
        let bit: Int64
        let form: ValueForm
        let isNullable: Bool
        /// The table that the column refers to, if the column is a foreign key to a table's `id`.
        var reference: Reference?

        var mask: Int64 { 1 << bit }

        /// A value as a literal, as the triggers write it and compare it.
        func literal(_ value: JSON) -> String { SQLLiteral.text(of: form.stored(value)) }
    }

    /// The mask of a row's life bit, which is set when an insert or a delete is pending.
    static let lifeMask: Int64 = 1
    /// Bits 1 to 62 stand for columns.
    static let maxColumns = 62

    /// The mask of the life and of every column.
    var fullMask: Int64 { columns.reduce(Self.lifeMask) { $0 | $1.mask } }

    /// The mask of the columns that are no counters.
    var plainMask: Int64 { columns.reduce(0) { $1.isCounter ? $0 : $0 | $1.mask } }

    /// The mask of the columns that have a value in `values`.
    func mask(of values: JSONObject) -> Int64 {
        columns.reduce(0) { values[$1.name] == nil ? $0 : $0 | $1.mask }
    }

    subscript(column name: String) -> Column? { columns.first { $0.name == name } }

    func columns(in mask: Int64) -> [Column] { columns.filter { $0.mask & mask != 0 } }
}

extension TableLayout {
    /// The counter columns. The engine asks for them for each row, and most tables have none, which is answered at
    /// once.
    var counters: [Column] { rules.counters.isEmpty ? [] : columns.filter(\.isCounter) }
}

extension TableLayout.Column {
    var isCounter: Bool {
        if case .counter = form { return true }
        return false
    }
}
