// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import GRDBSQLite

extension Database {
    /// Whether every foreign key holds at this moment, those included that are checked at the commit.
    ///
    /// > Source: SQLite, "Status Parameters for database connections", SQLITE_DBSTATUS_DEFERRED_FKS.
    var holdsForeignKeys: Bool {
        var (current, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current == 0
    }

    /// Whether there may be foreign keys that are checked at the commit, and not at the end of each statement.
    ///
    /// No pragma tells, but the text of such a table has the word. A name or a comment may have it too.
    var hasDeferredForeignKeys: Bool {
        get throws {
            try Bool.fetchOne(
                cachedStatement(
                    sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND sql LIKE '%deferred%')"))
                ?? true
        }
    }

    /// Does some work whose foreign keys are checked at its end, and not statement by statement.
    ///
    /// When it throws, the transaction is undone, and SQLite ends the deferral with that.
    func deferringForeignKeys<Value>(_ work: () throws -> Value) throws -> Value {
        try execute(sql: "PRAGMA defer_foreign_keys = ON")
        let value = try work()
        try execute(sql: "PRAGMA defer_foreign_keys = OFF")
        return value
    }

    /// Does some work, and undoes it if a constraint stands against it, foreign keys being checked at its end.
    ///
    /// - Returns: Whether it was kept.
    func keepingWhatFits(_ work: () throws -> Void) throws -> Bool {
        try deferringForeignKeys { try keepingWhatFitsAsItComes(work) }
    }

    /// Does some work, and undoes it if a constraint stands against it, foreign keys being checked when their table says so.
    ///
    /// To defer them makes SQLite prepare every statement again, which takes longer than a few rows do.
    ///
    /// - Returns: Whether it was kept.
    func keepingWhatFitsAsItComes(_ work: () throws -> Void) throws -> Bool {
        var fits = false
        try inSavepoint {
            do {
                try work()
                fits = holdsForeignKeys
            } catch let error as DatabaseError where error.isConstraint {}
            return fits ? .commit : .rollback
        }
        return fits
    }
}

extension DatabaseError {
    var isConstraint: Bool { resultCode == .SQLITE_CONSTRAINT }

    /// Changes a table of the app's. What a trigger, an index on an expression or a generated column of the app's cannot do
    /// counts as a constraint, and so does a cascade that goes deeper than SQLite's 1,000 levels: they stand against a row, and
    /// not against sync.
    static func asConstraint<Value>(_ change: () throws -> Value) throws -> Value {
        do { return try change() } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            throw DatabaseError(resultCode: .SQLITE_CONSTRAINT, message: error.message, sql: error.sql)
        }
    }
}
