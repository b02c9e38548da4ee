// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import GRDBSQLite

extension Database {
    /// Whether every foreign key holds at this moment, including those that are checked at the commit.
    ///
    /// > Source: SQLite, "Status Parameters for database connections", SQLITE_DBSTATUS_DEFERRED_FKS.
    var holdsForeignKeys: Bool {
        var (current, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current == 0
    }

    /// Whether there may be foreign keys that are checked at the commit instead of at the end of each statement.
    ///
    /// No pragma reports them, but the SQL of such a table contains the word. A name or a comment may contain it too.
    var hasDeferredForeignKeys: Bool {
        get throws {
            try Bool.fetchOne(
                cachedStatement(
                    sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND sql LIKE '%deferred%')"))
                ?? true
        }
    }

    /// Does some work whose foreign keys are checked at its end instead of after each statement.
    ///
    /// The end of a deferral makes SQLite forget the keys that do not hold. So the deferral lasts until the commit, where they
    /// are checked, if the work throws, or if a key did not hold before. Not to be called within the work.
    ///
    /// - Throws: What the work throws; `DatabaseError` if the work leaves a key that does not hold.
    func deferringForeignKeys<Value>(_ work: () throws -> Value) throws -> Value {
        let heldBefore = holdsForeignKeys
        try execute(sql: "PRAGMA defer_foreign_keys = ON")
        let value = try work()
        if !heldBefore { return value }
        if !holdsForeignKeys { throw DatabaseError.foreignKey }
        try execute(sql: "PRAGMA defer_foreign_keys = OFF")
        return value
    }

    /// Does some work, and undoes it if a constraint forbids it.
    ///
    /// Deferring foreign keys makes SQLite prepare every statement again, which takes longer than writing a few rows.
    ///
    /// - Parameter deferring: Whether foreign keys are checked at the end of the work, and not when their table says so.
    /// - Returns: The error of the constraint. Nil: the work was kept.
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

    /// A foreign key does not hold at the end of some work.
    static var foreignKey: DatabaseError {
        DatabaseError(resultCode: .SQLITE_CONSTRAINT_FOREIGNKEY, message: "FOREIGN KEY constraint failed")
    }

    /// Runs a change to one of the app's tables. If a trigger, an index on an expression or a generated column of the app
    /// fails, that counts as a constraint error, and so does a cascade that goes deeper than SQLite's 1,000 levels: such an
    /// error blocks one row, not the whole sync.
    static func asConstraint<Value>(_ change: () throws -> Value) throws -> Value {
        do { return try change() } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            throw DatabaseError(resultCode: .SQLITE_CONSTRAINT, message: error.message, sql: error.sql)
        }
    }
}
