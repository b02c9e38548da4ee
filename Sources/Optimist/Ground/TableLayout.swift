// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

/// The layout of a synced table: its number and its columns.
///
/// The engine assigns numbers and bits once, so that they outlive the app's migrations.
struct TableLayout: Sendable, Equatable {
    let number: Int64
    let name: String
    let idForm: UUIDForm
    /// The columns in table order, without `id` and generated columns.
    let columns: [Column]
    var rules = SyncRules()
    var parents: Set<String> { Set(columns.compactMap { $0.reference?.table }) }

    struct Column: Sendable, Equatable {
        let name: String
        /// The column's bit in the engine's masks, from 1. Bit 0 is the row's life.
        let bit: Int64
        let form: ValueForm
        let isNullable: Bool
        /// The foreign key to a table's `id`, if the column is one.
        var reference: Reference?

        var mask: Int64 { 1 << bit }

        /// A value as the literal that the triggers write and compare.
        func literal(_ value: JSON) -> String { SQLLiteral.text(of: form.stored(value)) }
    }

    /// The bit that is set while an insert or a delete is pending.
    static let lifeMask: Int64 = 1
    /// Bits 1 to 62 stand for columns.
    static let maxColumns = 62

    var fullMask: Int64 { columns.reduce(Self.lifeMask) { $0 | $1.mask } }

    /// The mask of all columns except counters.
    var plainMask: Int64 { columns.reduce(0) { $1.isCounter ? $0 : $0 | $1.mask } }

    func mask(of values: JSONObject) -> Int64 {
        columns.reduce(0) { values[$1.name] == nil ? $0 : $0 | $1.mask }
    }

    subscript(column name: String) -> Column? { columns.first { $0.name == name } }

    func columns(in mask: Int64) -> [Column] { columns.filter { $0.mask & mask != 0 } }
}

extension TableLayout {
    /// The counter columns. The engine reads this for every row, so it is fast for tables without counters.
    var counters: [Column] { rules.counters.isEmpty ? [] : columns.filter(\.isCounter) }
}

extension TableLayout.Column {
    var isCounter: Bool {
        if case .counter = form { return true }
        return false
    }
}
