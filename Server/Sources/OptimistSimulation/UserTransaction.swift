// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

/// A transaction of a user's: some random statements on some tables.
struct UserTransaction {
    let device: Int
    let number: Int
    let statements: Int
    private var random: SplitMix64
    private var lastValue = 0
    /// Rows that were deleted and inserted again, which one cannot see afterwards.
    private(set) var reborn: Set<RowName> = []

    struct Undo: Error {}

    init(device: Int, number: Int, statements: Int, draw: UInt64) {
        self.device = device
        self.number = number
        self.statements = statements
        random = SplitMix64(seed: draw)
    }

    /// Runs the statements.
    ///
    /// - Throws: What SQLite says, such as a broken constraint; Undo now and then, as an app does that changes its mind.
    mutating func run(in db: Database) throws {
        for _ in 0..<statements { try runOne(db) }
        if chance(0.05) { throw Undo() }
    }

    private mutating func runOne(_ db: Database) throws {
        let table = ["list", "todo", "todo", "step"][Int(random.next() % 4)]
        switch random.next() % 12 {
        case 0, 1: try put(table, "INSERT OR IGNORE", in: db)
        case 2: try put(table, "INSERT OR REPLACE", in: db)
        case 3: try upsert(table, in: db)
        case 4, 5, 6: try update(table, in: db)
        case 7: try updateMany(table, in: db)
        case 8: try delete(table, in: db)
        case 9: try rebirth(table, in: db)
        case 10: try rename(in: db)
        default: try toggle(in: db)
        }
    }

    // MARK: - Statements

    private mutating func put(_ table: String, _ verb: String, in db: Database) throws {
        let id = anyID(table)
        if verb.hasSuffix("REPLACE") {
            guard try !isReferredTo(table, id, db) else { return }
            try noteRebirth(table, id, db)
        }
        try insert(verb, table, id, in: db)
    }

    private mutating func insert(_ verb: String, _ table: String, _ id: Data, in db: Database) throws {
        switch table {
        case "list":
            try db.execute(sql: "\(verb) INTO list(id, name, rank) VALUES (?, ?, ?)", arguments: [id, value(), rank()])
        case "todo":
            try db.execute(
                sql: "\(verb) INTO todo(id, listId, content, note) VALUES (?, ?, ?, ?)",
                arguments: [id, try existing("list", db), value(), value()])
        default:
            try db.execute(
                sql: "\(verb) INTO step(id, todoId, parentId, label) VALUES (?, ?, ?, ?)",
                arguments: [
                    id, try existing("todo", db),
                    Features.deletesParents && chance(0.5) ? try existing("step", db) : nil, value(),
                ])
        }
    }

    private mutating func upsert(_ table: String, in db: Database) throws {
        let column = textColumn(table)
        try db.execute(
            sql: """
                INSERT INTO \(table)(id, \(column)) VALUES (?, ?)
                ON CONFLICT(id) DO UPDATE SET \(column) = excluded.\(column)
                """,
            arguments: [anyID(table), value()])
    }

    private mutating func update(_ table: String, in db: Database) throws {
        guard let id = try existing(table, db) else { return }
        if chance(0.25), table != "list" {
            let (column, parent) = table == "todo" ? ("listId", "list") : ("todoId", "todo")
            try db.execute(
                sql: "UPDATE \(table) SET \(column) = ? WHERE id = ?", arguments: [try existing(parent, db), id])
        } else {
            try db.execute(sql: "UPDATE \(table) SET \(textColumn(table)) = ? WHERE id = ?", arguments: [value(), id])
        }
    }

    private mutating func updateMany(_ table: String, in db: Database) throws {
        if table == "todo", chance(0.5) {
            return try db.execute(
                sql: "UPDATE todo SET note = ? || l.name FROM list l WHERE l.id = todo.listId AND todo.done = 0",
                arguments: [value() + " "])
        }
        let last = UInt8(random.next() % UInt64(Tables.idsPerTable))
        try db.execute(
            sql: "UPDATE \(table) SET \(textColumn(table)) = ? || hex(id) WHERE id > ?",
            arguments: [value() + " ", Tables.id(table, Int(last))])
    }

    private mutating func toggle(in db: Database) throws {
        guard let id = try existing("todo", db) else { return }
        try db.execute(sql: "UPDATE todo SET done = NOT done WHERE id = ?", arguments: [id])
    }

    private mutating func delete(_ table: String, in db: Database) throws {
        guard let id = try existing(table, db), try !isReferredTo(table, id, db) else { return }
        // Deleting what others may refer to needs to say what becomes of those: not in this app.
        guard Features.deletesParents || table == "step" else { return }
        try db.execute(sql: "DELETE FROM \(table) WHERE id = ?", arguments: [id])
    }

    private mutating func rebirth(_ table: String, in db: Database) throws {
        guard let id = try existing(table, db), try !isReferredTo(table, id, db) else { return }
        try noteRebirth(table, id, db)
        try db.execute(sql: "DELETE FROM \(table) WHERE id = ?", arguments: [id])
        try insert("INSERT", table, id, in: db)
    }

    private mutating func rename(in db: Database) throws {
        guard let old = try existing("step", db), try !isReferredTo("step", old, db) else { return }
        let new = anyID("step")
        guard try !exists("step", new, db) else { return }
        try db.execute(sql: "UPDATE step SET id = ? WHERE id = ?", arguments: [new, old])
    }

    // MARK: - Draws

    private mutating func chance(_ part: Double) -> Bool { Double(random.next() >> 11) * 0x1p-53 < part }

    /// A text that nobody else writes. Some the server refuses.
    private mutating func value() -> String {
        lastValue += 1
        let text = "d\(device)w\(number).\(lastValue)"
        return chance(0.02) ? "\(Refusals.prefix)\(text)" : text
    }

    private mutating func rank() -> Int? { chance(0.3) ? nil : Int(random.next() % 5) }

    private mutating func anyID(_ table: String) -> Data {
        Tables.id(table, Int(random.next() % UInt64(Tables.idsPerTable)))
    }

    private mutating func existing(_ table: String, _ db: Database) throws -> Data? {
        let ids = try Data.fetchAll(db, sql: "SELECT id FROM \(table) ORDER BY id")
        return ids.isEmpty ? nil : ids[Int(random.next() % UInt64(ids.count))]
    }

    private func textColumn(_ table: String) -> String {
        table == "list" ? "name" : table == "todo" ? "content" : "label"
    }

    private mutating func noteRebirth(_ table: String, _ id: Data, _ db: Database) throws {
        if try exists(table, id, db), let text = Rows.text(id.databaseValue) {
            reborn.insert(RowName(table: table, id: text))
        }
    }

    private func exists(_ table: String, _ id: Data, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(table) WHERE id = ?)", arguments: [id]) ?? false
    }

    private func isReferredTo(_ table: String, _ id: Data, _ db: Database) throws -> Bool {
        let sql =
            switch table {
            case "list": "SELECT EXISTS (SELECT 1 FROM todo WHERE listId = ?)"
            case "todo": "SELECT EXISTS (SELECT 1 FROM step WHERE todoId = ?)"
            default: "SELECT EXISTS (SELECT 1 FROM step WHERE parentId = ?)"
            }
        return try Bool.fetchOne(db, sql: sql, arguments: [id]) ?? false
    }
}

/// What the server refuses.
enum Refusals {
    static let prefix = "refused "
}
