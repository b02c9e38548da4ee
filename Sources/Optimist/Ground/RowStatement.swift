// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import GRDBSQLite

/// A statement that the engine runs for many rows, within one transaction.
///
/// GRDB boxes every argument and copies every value, which took longer than SQLite's insert of a row. This type binds
/// and reads values in place. GRDB still executes statements that write, so that observations see their changes.
final class RowStatement {
    private let statement: Statement
    private var handle: OpaquePointer { statement.sqliteStatement }

    init(_ sql: String, in db: Database) throws {
        statement = try db.cachedStatement(sql: sql)
        // Keeps GRDB from checking the bound values.
        statement.setUncheckedArguments(StatementArguments())
    }

    func execute(_ values: [DatabaseValue]) throws {
        bind(values)
        defer { sqlite3_reset(handle) }
        try statement.execute()
    }

    /// Calls a closure with each row of a query. A row is only valid within the call.
    func forEach(_ values: [DatabaseValue], _ body: (RowColumns) throws -> Void) throws {
        try scan(values) { row in
            try body(row)
            return true
        }
    }

    /// Calls a closure with the rows of a query until it returns false.
    func scan(_ values: [DatabaseValue], _ body: (RowColumns) throws -> Bool) throws {
        bind(values)
        defer { sqlite3_reset(handle) }
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW: if try !body(RowColumns(handle: handle)) { return }
            case SQLITE_DONE: return
            case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code), sql: statement.sql)
            }
        }
    }

    func first<Value>(_ values: [DatabaseValue], _ value: (RowColumns) throws -> Value) throws -> Value? {
        var first: Value?
        try forEach(values) { if first == nil { first = try value($0) } }
        return first
    }

    private func bind(_ values: [DatabaseValue]) {
        for (index, value) in zip(Int32(1)..., values) {
            let code = bind(value, at: index)
            precondition(code == SQLITE_OK, "\(values.count) values for \(statement.sql)")
        }
    }

    /// Makes SQLite copy the bytes, so that they need not outlive the call.
    static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private func bind(_ value: DatabaseValue, at index: Int32) -> Int32 {
        switch value.storage {
        case .null: return sqlite3_bind_null(handle, index)
        case .int64(let number): return sqlite3_bind_int64(handle, index, number)
        case .double(let number): return sqlite3_bind_double(handle, index, number)
        case .string(var text):
            return text.withUTF8 { utf8 in
                guard let start = utf8.baseAddress else {
                    return sqlite3_bind_text(handle, index, "", 0, Self.transient)
                }
                return start.withMemoryRebound(to: CChar.self, capacity: utf8.count) {
                    sqlite3_bind_text(handle, index, $0, Int32(utf8.count), Self.transient)
                }
            }
        case .blob(let data):
            if data.isEmpty { return sqlite3_bind_zeroblob(handle, index, 0) }
            return data.withUnsafeBytes {
                sqlite3_bind_blob(handle, index, $0.baseAddress, Int32($0.count), Self.transient)
            }
        }
    }
}

/// The current row of a statement. Columns are numbered from 0.
struct RowColumns {
    fileprivate let handle: OpaquePointer

    /// An integer, or 0 for null.
    func int(_ index: Int32) -> Int64 { sqlite3_column_int64(handle, index) }

    func optionalInt(_ index: Int32) -> Int64? {
        sqlite3_column_type(handle, index) == SQLITE_NULL ? nil : sqlite3_column_int64(handle, index)
    }

    func text(_ index: Int32) -> String? {
        guard let start = sqlite3_column_text(handle, index) else { return nil }
        let utf8 = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, index)))
        return String(decoding: utf8, as: UTF8.self)
    }

    func value(_ index: Int32) -> DatabaseValue { ValueView(column: index, of: handle).databaseValue }
}
