// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Finds what the app's migrations write into synced rows, so that these writes reach the server like any other.
///
/// Triggers would block a migration that alters what they name, so the store removes them while migrations run. Instead, it
/// copies each synced table before the migrations and compares it afterwards: it replays the differences on the copy, under
/// the same triggers. The copies are tables of the file, so nothing is lost if the process ends in between.
///
/// > Source: Documentation/Decisions/0009-migrations-are-writes.md, on why they are not ignored.
struct MigrationCapture {
    private let db: Database

    init(_ db: Database) { self.db = db }

    static func copy(of table: Int64) -> String { "optimist_before_\(table)" }

    /// Copies the synced tables. A copy from earlier migrations that did not finish stays as it is.
    func begin() throws {
        for row in try Row.fetchAll(db, sql: "SELECT number, name FROM optimist_table") {
            let (number, name): (Int64, String) = (row[0], row[1])
            let copy = Self.copy(of: number)
            guard try db.tableExists(name), try !db.tableExists(copy) else { continue }
            try db.execute(sql: "CREATE TABLE \(copy) AS SELECT * FROM \"\(name)\"")
        }
    }

    /// Captures the changes made since, in the running transaction, and drops the copies. It ignores added rows: they
    /// have no entry, and ``Adoption`` makes them pending.
    func finish(_ layouts: [TableLayout]) throws {
        for layout in layouts where try db.tableExists(Self.copy(of: layout.number)) { try replay(layout) }
        let copies = try String.fetchAll(
            db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'optimist_before_*'")
        for copy in copies { try db.execute(sql: "DROP TABLE \(copy)") }
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
