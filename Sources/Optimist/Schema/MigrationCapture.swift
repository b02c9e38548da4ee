// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Captures the migrations' changes to synced rows, so that they reach the server like any other edit.
///
/// Triggers would block a migration that alters the tables they refer to, so the store removes the triggers while
/// migrations run. Instead, it copies each synced table before the migrations. Afterwards it replays the differences on
/// the copy, under the same triggers. The copies are tables of the file, so a crash in between loses nothing.
///
/// > Source: Documentation/Decisions/0009-migrations-are-writes.md.
struct MigrationCapture {
    private let db: Database

    init(_ db: Database) { self.db = db }

    static func copy(of table: Int64) -> String { "optimist_before_\(table)" }

    /// Holds the names of the tables from before the migrations.
    private static let formerTables = "optimist_before"
    /// Matches the triggers that mark tables. A dropped table loses its mark.
    static let marks = "optimist_mark_*"
    private static func mark(of table: Int64) -> String { "optimist_mark_\(table)" }

    /// Copies the synced tables and records the file's tables. Keeps the copies and records of unfinished earlier
    /// migrations.
    func begin() throws {
        let isFirst = try !db.tableExists(Self.formerTables)
        if isFirst {
            try db.execute(
                sql: """
                    CREATE TABLE \(Self.formerTables) AS
                    SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'optimist_*'
                    """)
        }
        for row in try Row.fetchAll(db, sql: "SELECT number, name FROM optimist_table") {
            let (number, name): (Int64, String) = (row[0], row[1])
            let copy = Self.copy(of: number)
            guard try db.tableExists(name, in: "main") else { continue }
            if try !db.tableExists(copy) {
                try db.execute(sql: "CREATE TABLE \(copy) AS SELECT * FROM main.\"\(name)\"")
            }
            guard isFirst else { continue }
            try db.execute(
                sql: """
                    CREATE TRIGGER main.\(Self.mark(of: number)) AFTER DELETE ON "\(name)" WHEN 0 BEGIN SELECT 1; END
                    """)
        }
    }

    /// Captures the changes since ``begin()`` in the running transaction, and drops the copies. Ignores added rows,
    /// which have no entry: ``Adoption`` makes them pending.
    ///
    /// - Returns: The numbers of the tables whose added rows were made by the migrations: tables that the migrations
    ///   created, and tables that were synced before.
    func finish(_ layouts: [TableLayout]) throws -> Set<Int64> {
        let notes = try Row.fetchAll(
            db,
            sql: """
                SELECT type, name FROM sqlite_master WHERE (type = 'table' AND name GLOB 'optimist_before*')
                OR (type = 'trigger' AND name GLOB '\(Self.marks)')
                """
        ).map { (type: $0[0] as String, name: $0[1] as String) }
        if notes.isEmpty { return [] }
        let names = Set(notes.map(\.name))
        let isNoted = names.contains(Self.formerTables)
        var made = try isNoted && !hasGone(of: names, layouts) ? madeTables(layouts) : []
        for layout in layouts where names.contains(Self.copy(of: layout.number)) {
            made.insert(layout.number)
            let isDropped = isNoted && !names.contains(Self.mark(of: layout.number))
            if try isDropped && isEmptied(layout) {
                try GoneTables(db).forget(layout.number)
            } else {
                try replay(layout)
            }
        }
        for (type, name) in notes { try db.execute(sql: "DROP \(type) IF EXISTS \(name)") }
        return made
    }

    private func madeTables(_ layouts: [TableLayout]) throws -> Set<Int64> {
        let former = try Set(String.fetchAll(db, sql: "SELECT lower(name) FROM \(Self.formerTables)"))
        return Set(layouts.filter { !former.contains($0.name.lowercased()) }.map(\.number))
    }

    /// Whether a synced table is missing. If so, its rows may be in a table that the migrations created by an
    /// undeclared rename. These rows get the time of the opening, because users wrote them.
    private func hasGone(of names: Set<String>, _ layouts: [TableLayout]) throws -> Bool {
        let known = try Row.fetchAll(db, sql: "SELECT number, name FROM optimist_table")
        return try known.contains { row in
            try names.contains(Self.copy(of: row[0])) && !db.tableExists(row[1] as String, in: "main")
        }
    }

    /// Whether a table with rows is empty now. If migrations dropped and recreated it, the app wants the server's rows:
    /// no user has deleted them.
    private func isEmptied(_ layout: TableLayout) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM \(Self.copy(of: layout.number)))
                AND NOT EXISTS (SELECT 1 FROM \(layout.quotedName))
                """) ?? false
    }

    private func replay(_ layout: TableLayout) throws {
        let copy = Self.copy(of: layout.number)
        let names = try Set(db.columns(in: copy).map(\.name))
        let common = TableLayout(
            number: layout.number, name: copy, idForm: layout.idForm,
            columns: layout.columns.filter { names.contains($0.name) }, rules: layout.rules)
        try db.execute(sql: "CREATE INDEX \(copy)_id ON \(copy)(id)")
        for trigger in CaptureTriggers(layout: common).definitions { try db.execute(sql: trigger.sql) }
        try db.execute(sql: "DELETE FROM \(copy) WHERE id NOT IN (SELECT id FROM \(layout.quotedName))")
        if common.columns.isEmpty { return }
        let assignments = common.columns.map { "\"\($0.name)\" = t.\"\($0.name)\"" }.joined(separator: ", ")
        let differs = common.columns.map { "\(copy).\"\($0.name)\" IS NOT t.\"\($0.name)\"" }
        try db.execute(
            sql: """
                UPDATE \(copy) SET \(assignments) FROM \(layout.quotedName) t
                WHERE t.id = \(copy).id AND (\(differs.joined(separator: " OR ")))
                """)
    }
}
