// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import GRDBSQLite

/// Inserts with SQLite's C interface, without GRDB or Optimist.
struct BareInsert {
    private let statement: OpaquePointer?
    /// Makes SQLite copy bound values.
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ db: Database) throws {
        var statement: OpaquePointer?
        let sql = "INSERT INTO todo(id, content, date, priority, done, alarm) VALUES (?, ?, ?, ?, ?, ?)"
        let code = sqlite3_prepare_v2(db.sqliteConnection, sql, -1, &statement, nil)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        self.statement = statement
    }

    func run(_ todos: [Todo]) throws {
        defer { sqlite3_finalize(statement) }
        for (index, todo) in todos.enumerated() {
            _ = withUnsafeBytes(of: todo.id.uuid) {
                sqlite3_bind_blob(statement, 1, $0.baseAddress, 16, Self.transient)
            }
            sqlite3_bind_text(statement, 2, todo.content, -1, Self.transient)
            sqlite3_bind_text(statement, 3, todo.date, -1, Self.transient)
            sqlite3_bind_int64(statement, 4, Int64(todo.priority))
            sqlite3_bind_int64(statement, 5, todo.done ? 1 : 0)
            if index.isMultiple(of: 2) {
                sqlite3_bind_text(statement, 6, "2026-11-21 10:00:00.000", -1, Self.transient)
            } else {
                sqlite3_bind_null(statement, 6)
            }
            let code = sqlite3_step(statement)
            guard code == SQLITE_DONE else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
            sqlite3_reset(statement)
        }
    }
}
