// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import GRDBSQLite
import OptimistCore

/// A row that the app writes, as a trigger passes it to its SQL function.
struct WrittenRow {
    typealias Values = Slice<UnsafeBufferPointer<OpaquePointer?>>

    let table: Int64
    let id: OpaquePointer?
    /// See ``ValueForm/letter``.
    private let forms: UnsafeRawBufferPointer
    /// In the layout's order.
    let values: Values
    /// The values before an update or a deletion. Empty for an insert.
    let former: Values

    /// - Parameter arguments: The table, the id, the letters, the values and, for an update, the former values. For a
    ///   deletion, no letters and only the former values.
    init?(_ arguments: UnsafeBufferPointer<OpaquePointer?>) {
        guard case .text(let forms) = ValueView(arguments[2]), arguments.count >= 3 + forms.count else { return nil }
        table = sqlite3_value_int64(arguments[0])
        id = arguments[1]
        self.forms = forms
        values = arguments[3..<(3 + forms.count)]
        former = arguments[(3 + forms.count)...]
    }

    /// The new value of a column. Nil if the row is deleted.
    func value(at place: Int) -> ValueView? { Self.view(values, at: place) }

    /// The value of a column before an update or a deletion. Nil for an insert.
    func former(at place: Int) -> ValueView? { Self.view(former, at: place) }

    private static func view(_ values: Values, at place: Int) -> ValueView? {
        let index = values.startIndex + place
        return values.indices.contains(index) ? ValueView(values[index]) : nil
    }

    /// The first changed value that does not fit its column.
    var unfitValue: UnfitValue? {
        for (place, letter) in forms.enumerated() {
            guard let form = ValueForm.form(letter: letter) else { continue }
            let value = ValueView(values[values.startIndex + place])
            if form.surelyFits(value) || isUnchanged(place, value) || form.fits(value.databaseValue) { continue }
            return UnfitValue(table: table, column: place, kind: UnfitValue.Kind(value))
        }
        return nil
    }

    private func isUnchanged(_ place: Int, _ value: ValueView) -> Bool {
        !former.isEmpty && ValueView(former[former.startIndex + place]).isSame(as: value)
    }
}

/// Why the store refuses a row at the write, before it is queued (S9).
enum RefusedRow: Equatable, Sendable {
    case oversize(Oversize)
    case unfit(UnfitValue)

    init?(_ row: WrittenRow) {
        if let oversize = Oversize(row) {
            self = .oversize(oversize)
        } else if let value = row.unfitValue {
            self = .unfit(value)
        } else {
            return nil
        }
    }

    /// The message of SQLite's error.
    var message: String {
        switch self {
        case .oversize: Oversize.message
        case .unfit: UnfitValue.message
        }
    }

    fileprivate func error(in layouts: [TableLayout]) -> OptimistError {
        switch self {
        case .oversize(let oversize): oversize.error(in: layouts)
        case .unfit(let value): value.error(in: layouts)
        }
    }
}

extension CaptureContext {
    /// Runs a transaction. If it fails because of a refused row, throws an error with the table and the remedy.
    func namingRefusedRows<T>(of layouts: [TableLayout], _ transaction: () throws -> T) throws -> T {
        do { return try transaction() } catch let error as DatabaseError {
            guard let refused, error.message == refused.message else { throw error }
            throw refused.error(in: layouts)
        }
    }
}
