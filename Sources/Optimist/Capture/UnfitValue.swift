// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

/// A value that the wire would change. The store refuses it at the write, before it is queued (S9).
///
/// Only changed values are checked. A value that was already in the row, for example from before the table was synced,
/// does not prevent edits of other columns.
struct UnfitValue: Equatable, Sendable {
    /// The message of SQLite's error.
    static let message = "a value cannot be synced unchanged"

    let table: Int64
    /// The column's index in the layout.
    let column: Int
    let kind: Kind

    /// Error messages name the kind and never quote the value.
    enum Kind: Equatable, Sendable {
        case text, brokenText, bytes, largeWhole, whole, infinite, fraction
    }

    /// The app gets this error instead of SQLite's.
    func error(in layouts: [TableLayout]) -> OptimistError {
        guard let layout = layouts.first(where: { $0.number == table }), layout.columns.indices.contains(column) else {
            return OptimistError(.unfitValue, "A value cannot be synced unchanged. Nothing was written.")
        }
        let (name, form) = (layout.columns[column].name, layout.columns[column].form)
        return OptimistError(
            .unfitValue,
            "\(layout.name).\(name) accepts \(form.words); \(kind.words) cannot be synced there unchanged. Nothing was "
                + "written: \(form.remedy(for: kind)).")
    }
}

extension UnfitValue.Kind {
    init(_ value: ValueView) {
        switch value {
        case .null: self = .text
        case .text(let bytes): self = bytes.isUTF8 ? .text : .brokenText
        case .blob: self = .bytes
        case .integer(let number): self = number.magnitude > 1 << 53 ? .largeWhole : .whole
        case .real(let number): self = number.isFinite ? .fraction : .infinite
        }
    }

    fileprivate var words: String {
        switch self {
        case .text: "this text"
        case .brokenText: "text that is not UTF-8"
        case .bytes: "bytes"
        case .largeWhole: "a whole number beyond ±2^53"
        case .whole: "this whole number"
        case .infinite: "an infinite number"
        case .fraction: "this number"
        }
    }
}

extension ValueForm {
    fileprivate var words: String {
        switch self {
        case .string: "text"
        case .bool: "0 and 1"
        case .int, .counter: "whole numbers from -2^53 to 2^53"
        case .int64: "whole numbers"
        case .number: "numbers"
        case .data: "bytes"
        case .json: "JSON text"
        case .date(.text): "UTC dates such as \"2026-11-21 10:00:00.123\""
        case .date(.seconds): "dates in seconds since 1970"
        case .date(.milliseconds): "dates in milliseconds since 1970"
        case .reference(let form): "the UUID of a row, \(form.words)"
        }
    }

    fileprivate func remedy(for kind: UnfitValue.Kind) -> String {
        switch (self, kind) {
        case (_, .brokenText): "write it as UTF-8, or as bytes to a column declared BLOB"
        case (.int, .largeWhole), (.number, .largeWhole): "declare the column BIGINT"
        case (_, .infinite): "write null, or another number"
        case (.string, .bytes):
            "write text (for a UUID, set the record's databaseUUIDEncodingStrategy), or declare the column BLOB"
        case (.bool, .whole): "write 0 or 1, or declare the column INTEGER"
        case (.int, .fraction), (.int64, .fraction): "write a whole number, or declare the column DOUBLE"
        case (.data, .text): "write bytes, or declare the column TEXT"
        case (.json, _):
            "write JSON (RFC 8259) other than null, nested at most \(JSONForm.maxDepth) deep, with unique names in an "
                + "object and numbers of at most 17 digits. For other text declare the column TEXT, for bytes BLOB"
        case (.date(.text), _):
            "write a Date, or text in this form with at most 9 fractional digits. For other text declare TEXT"
        case (.date, _):
            "write a date between the years 0 and 9999, in whole nanoseconds. For text declare the column TEXT"
        case (.number, _): "declare the column with the type of its values"
        default: "write such a value, or change the column's type"
        }
    }
}

extension ValueForm {
    /// Whether the wire carries a value unchanged and the value has the type that the server expects.
    func fits(_ value: DatabaseValue) -> Bool {
        if case (.json, .string(let text)) = (self, value.storage) {
            return JSONForm.wire(text, maxDepth: JSONForm.maxDepth) != nil
        }
        if case .json = self, value.withView(isStrange) { return false }
        return columnType.objection(to: wire(value)) == nil
    }

    /// Whether a JSON column never stores a value of this storage class.
    private func isStrange(_ value: ValueView) -> Bool {
        switch value {
        case .blob: true
        case .real(let number): !number.isFinite || self != .json(.numeric)
        case .integer: self != .json(.numeric)
        case .null, .text: false
        }
    }

    /// A fast check by type and size, without a copy. If false, ``fits(_:)`` decides.
    func surelyFits(_ value: ValueView) -> Bool {
        switch (self, value) {
        case (_, .null): true
        case (.string, .text(let bytes)): bytes.isUTF8
        case (.bool, .integer(let number)): number == 0 || number == 1
        case (.int, .integer(let number)), (.counter, .integer(let number)), (.number, .integer(let number)):
            number.magnitude <= 1 << 53
        case (.int64, .integer): true
        case (.number, .real(let number)): number.isFinite
        case (.data, .blob): true
        case (.reference(.bytes), .blob(let bytes)): bytes.count == 16
        default: false
        }
    }

    /// The form's letter in the triggers' SQL.
    var letter: String { Self.letters.first { $0.value == self }.map { String($0.key) } ?? "" }

    /// The inverse of ``letter``.
    static func form(letter: UInt8) -> ValueForm? { letter < 128 ? byLetter[Int(letter)] : nil }

    private static let byLetter: [ValueForm?] = (0..<128).map { letters[Character(UnicodeScalar(UInt8($0)))] }

    private static let letters: [Character: ValueForm] = [
        "s": .string, "b": .bool, "i": .int, "l": .int64, "n": .number, "d": .data, "c": .counter, "j": .json(.text),
        "J": .json(.numeric), "t": .date(.text), "e": .date(.seconds), "m": .date(.milliseconds),
        "r": .reference(.bytes),
        "R": .reference(.text),
    ]
}
