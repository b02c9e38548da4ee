// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import GRDBSQLite

extension Database {
    /// Whether all foreign keys currently hold, including deferred ones.
    ///
    /// > Source: SQLite, "Status Parameters for database connections", SQLITE_DBSTATUS_DEFERRED_FKS.
    var holdsForeignKeys: Bool {
        var (current, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current == 0
    }

    /// Whether there may be deferred foreign keys. No pragma reports them, so this looks for the word "deferred" in the
    /// SQL of tables.
    var hasDeferredForeignKeys: Bool {
        get throws {
            try Bool.fetchOne(
                cachedStatement(
                    sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND sql LIKE '%deferred%')"))
                ?? true
        }
    }

    /// Runs work and checks its foreign keys at the end instead of after each statement.
    ///
    /// Ending a deferral makes SQLite forget violated keys. So if the work throws, or if a key was violated before, the
    /// deferral lasts until the commit, which checks the keys. Calls must not be nested.
    ///
    /// - Throws: What the work throws; `DatabaseError` if the work violates a key.
    func deferringForeignKeys<Value>(_ work: () throws -> Value) throws -> Value {
        let heldBefore = holdsForeignKeys
        try execute(sql: "PRAGMA defer_foreign_keys = ON")
        let value = try work()
        if !heldBefore { return value }
        if !holdsForeignKeys { throw DatabaseError.foreignKey }
        try execute(sql: "PRAGMA defer_foreign_keys = OFF")
        return value
    }

    /// Runs work, and rolls it back if it violates a constraint.
    ///
    /// Deferring foreign keys makes SQLite reprepare every statement, which takes longer than writing a few rows.
    ///
    /// - Parameter deferring: Whether to check foreign keys only at the end of the work.
    /// - Returns: The constraint error, or nil if the work was kept.
    func attempt(deferring: Bool, _ work: () throws -> Void) throws -> DatabaseError? {
        if deferring { return try deferringForeignKeys { try attempt(deferring: false, work) } }
        var obstacle: DatabaseError?
        try inSavepoint {
            do {
                try work()
                if !holdsForeignKeys { obstacle = .foreignKey }
            } catch let error as DatabaseError where error.isConstraint { obstacle = error }
            return obstacle == nil ? .commit : .rollback
        }
        return obstacle
    }
}

extension DatabaseError {
    var isConstraint: Bool { resultCode == .SQLITE_CONSTRAINT }

    static var foreignKey: DatabaseError {
        DatabaseError(resultCode: .SQLITE_CONSTRAINT_FOREIGNKEY, message: "FOREIGN KEY constraint failed")
    }

    /// Runs a change to one of the app's tables. Errors of the app's triggers, expression indexes and generated
    /// columns, and cascades deeper than SQLite's 1,000 levels, count as constraint errors. They then block one row and
    /// not the entire sync.
    static func asConstraint<Value>(_ change: () throws -> Value) throws -> Value {
        do { return try change() } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            throw DatabaseError(resultCode: .SQLITE_CONSTRAINT, message: error.message, sql: error.sql)
        }
    }
}
