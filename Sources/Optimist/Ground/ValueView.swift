// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import GRDBSQLite

/// An SQLite value, viewed in place. Only valid during the call or the row that provides it.
///
/// SQLite represents texts and blobs as a pointer and a length. The pointer may be null if the length is 0, and a text
/// may contain zero bytes and invalid UTF-8.
enum ValueView {
    case null
    case integer(Int64)
    case real(Double)
    case text(UnsafeRawBufferPointer)
    case blob(UnsafeRawBufferPointer)

    init(_ argument: OpaquePointer?) {
        switch sqlite3_value_type(argument) {
        case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(argument))
        case SQLITE_FLOAT: self = .real(sqlite3_value_double(argument))
        case SQLITE_TEXT:
            // The text must be read before its length, because reading may convert it.
            let start = sqlite3_value_text(argument)
            self = .text(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(argument))))
        case SQLITE_BLOB:
            let start = sqlite3_value_blob(argument)
            self = .blob(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(argument))))
        default: self = .null
        }
    }

    init(column index: Int32, of statement: OpaquePointer) {
        switch sqlite3_column_type(statement, index) {
        case SQLITE_INTEGER: self = .integer(sqlite3_column_int64(statement, index))
        case SQLITE_FLOAT: self = .real(sqlite3_column_double(statement, index))
        case SQLITE_TEXT:
            let start = sqlite3_column_text(statement, index)
            self = .text(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index))))
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(statement, index)
            self = .blob(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index))))
        default: self = .null
        }
    }

    /// A copy. A text that is not UTF-8 becomes a blob, because a string cannot hold its bytes.
    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let number): number.databaseValue
        case .real(let number): number.databaseValue
        case .text(let bytes): bytes.utf8Text?.databaseValue ?? Data(bytes).databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }

    /// Whether two values have the same type and bytes. Numbers are compared by value, as in SQLite.
    func isSame(as other: ValueView) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.integer(let a), .integer(let b)): a == b
        case (.real(let a), .real(let b)): a == b
        case (.integer(let a), .real(let b)), (.real(let b), .integer(let a)): Int64(exactly: b) == a
        case (.text(let a), .text(let b)), (.blob(let a), .blob(let b)): a.hasSameBytes(as: b)
        default: false
        }
    }
}

extension DatabaseValue {
    /// Calls a closure with a view of the value.
    func withView<Result>(_ body: (ValueView) -> Result) -> Result {
        switch storage {
        case .null: body(.null)
        case .int64(let number): body(.integer(number))
        case .double(let number): body(.real(number))
        case .string(var text): text.withUTF8 { body(.text(UnsafeRawBufferPointer($0))) }
        case .blob(let data): data.withUnsafeBytes { body(.blob($0)) }
        }
    }

    /// Whether SQLite considers two values the same. GRDB's comparison also equates composed and decomposed letters.
    func isSame(as other: DatabaseValue) -> Bool { withView { a in other.withView { a.isSame(as: $0) } } }
}

extension UnsafeRawBufferPointer {
    /// The bytes as a string, or nil if they are not UTF-8.
    var utf8Text: String? {
        // Decoding replaces invalid bytes, which changes the text.
        var text = String(decoding: self, as: UTF8.self)
        return text.withUTF8 { UnsafeRawBufferPointer($0).hasSameBytes(as: self) } ? text : nil
    }

    func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count, let start = baseAddress, let otherStart = other.baseAddress else {
            return isEmpty && other.isEmpty
        }
        return memcmp(start, otherStart, count) == 0
    }

    var isUTF8: Bool { isASCII || utf8Text != nil }

    private var isASCII: Bool {
        var (seen, index) = (UInt64(0), 0)
        while index + 8 <= count {
            seen |= loadUnaligned(fromByteOffset: index, as: UInt64.self)
            index += 8
        }
        while index < count {
            seen |= UInt64(self[index])
            index += 1
        }
        return seen & 0x8080_8080_8080_8080 == 0
    }
}
