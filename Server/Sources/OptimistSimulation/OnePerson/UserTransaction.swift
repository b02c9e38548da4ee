// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

struct UserTransaction {
    let device: Int
    let number: Int
    let statements: Int
    private var random: SplitMix64
    private var lastValue = 0
    private var knowsDue = false
    private var removed: Set<RowName> = []
    /// Rows that were deleted and inserted again, which a comparison of the tables cannot show.
    private(set) var reborn: Set<RowName> = []

    struct Undo: Error {}

    init(device: Int, number: Int, statements: Int, draw: UInt64) {
        self.device = device
        self.number = number
        self.statements = statements
        random = SplitMix64(seed: draw)
    }

    /// - Throws: SQLite's errors, such as a violated constraint. Sometimes `Undo`, like an app that cancels a
    ///   transaction.
    mutating func run(in db: Database) throws {
        knowsDue = try db.columns(in: "todo").contains { $0.name == "due" }
        var before = try Self.ids(db)
        for _ in 0..<statements {
            try runOne(db)
            let after = try Self.ids(db)
            removed.formUnion(before.subtracting(after))
            reborn.formUnion(after.intersection(removed))
            before = after
        }
        if chance(0.05) { throw Undo() }
    }

    private static func ids(_ db: Database) throws -> Set<RowName> {
        let union = Tables.names.map { "SELECT '\($0)', id FROM \($0)" }.joined(separator: " UNION ALL ")
        var ids: Set<RowName> = []
        let rows = try Row.fetchCursor(db.cachedStatement(sql: union))
        while let row = try rows.next() { ids.insert(RowName(table: row[0], id: Rows.hex(row[1]))) }
        return ids
    }

    private mutating func runOne(_ db: Database) throws {
        let tables = ["list", "todo", "todo", "todo", "step", "step", "tag", "memo", "mark"]
        let table = tables[Int(random.next() % UInt64(tables.count))]
        switch random.next() % 16 {
        case 0, 1, 2: try put(table, "INSERT OR IGNORE", in: db)
        case 3: try put(table, "INSERT OR REPLACE", in: db)
        case 4: try upsert(table, in: db)
        case 5, 6, 7: try update(table, in: db)
        case 8: try updateMany(table, in: db)
        case 9: try delete(table, in: db)
        case 10: try rebirth(table, in: db)
        case 11: try rename(in: db)
        case 12, 13: try count(table == "memo" ? "memo" : "tag", in: db)
        default: try toggle(in: db)
        }
    }

    // MARK: - Statements

    private mutating func put(_ table: String, _ verb: String, in db: Database) throws {
        let id = anyID(table)
        if verb.hasSuffix("REPLACE") {
            // The new name may belong to another row, which would also be replaced.
            guard table != "tag" else { return }
            try noteRebirth(table, id, db)
        }
        try insert(verb, table, id, in: db)
    }

    private mutating func insert(_ verb: String, _ table: String, _ id: Data, in db: Database) throws {
        var values: [(String, (any DatabaseValueConvertible)?)] = [("id", id)]
        for column in Tables.columns[table] ?? [] where column.since == 1 || knowsDue {
            switch column.kind {
            case .text: values.append((column.name, value()))
            case .uniqueName: values.append((column.name, name()))
            case .reference(let target, _):
                values.append((column.name, chance(0.8) ? try existing(target, db) : nil))
            case .plain where column.name == "rank": values.append((column.name, rank()))
            case .plain, .counter: break
            }
        }
        let columns = values.map(\.0).joined(separator: ", ")
        let marks = values.map { _ in "?" }.joined(separator: ", ")
        try db.cachedStatement(sql: "\(verb) INTO \(table)(\(columns)) VALUES (\(marks))").execute(
            arguments: StatementArguments(values.map(\.1)))
    }

    private mutating func upsert(_ table: String, in db: Database) throws {
        let column = textColumn(table)
        let text = table == "tag" ? name() : value()
        // Skips a name that is taken, as any app would.
        let isTaken = table == "tag" ? try has("SELECT 1 FROM tag WHERE name = ?", text, db) : false
        guard !isTaken else { return }
        try db.execute(
            sql: """
                INSERT INTO \(table)(id, \(column)) VALUES (?, ?)
                ON CONFLICT(id) DO UPDATE SET \(column) = excluded.\(column)
                """,
            arguments: [anyID(table), text])
    }

    private mutating func update(_ table: String, in db: Database) throws {
        guard let id = try existing(table, db) else { return }
        let references = (Tables.columns[table] ?? []).compactMap { column in
            if case .reference(let target, _) = column.kind { (column.name, target) } else { nil }
        }
        if chance(0.3), !references.isEmpty {
            let (column, target) = references[Int(random.next() % UInt64(references.count))]
            try db.cachedStatement(sql: "UPDATE \(table) SET \(column) = ? WHERE id = ?").execute(arguments: [
                try existing(target, db), id,
            ])
        } else if table == "tag" {
            try db.cachedStatement(sql: "UPDATE OR IGNORE tag SET name = ? WHERE id = ?").execute(arguments: [
                name(), id,
            ])
        } else {
            let column = table == "todo" && knowsDue && chance(0.5) ? "due" : textColumn(table)
            try db.cachedStatement(sql: "UPDATE \(table) SET \(column) = ? WHERE id = ?").execute(arguments: [
                value(), id,
            ])
        }
    }

    private mutating func updateMany(_ table: String, in db: Database) throws {
        if table == "tag" { return try db.execute(sql: "UPDATE tag SET likes = likes + 1") }
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
        try db.cachedStatement(sql: "UPDATE todo SET done = NOT done WHERE id = ?").execute(arguments: [id])
    }

    private mutating func count(_ table: String, in db: Database) throws {
        guard let id = try existing(table, db) else { return }
        let column = table == "tag" ? "likes" : "views"
        try db.execute(
            sql: "UPDATE \(table) SET \(column) = \(column) + ? WHERE id = ?",
            arguments: [Int(random.next() % 3) + 1, id])
    }

    /// Rows that refer to the deleted row are deleted as well, or lose the reference.
    private mutating func delete(_ table: String, in db: Database) throws {
        guard let id = try existing(table, db), try !isRestricted(table, id, db) else { return }
        try db.cachedStatement(sql: "DELETE FROM \(table) WHERE id = ?").execute(arguments: [id])
    }

    private mutating func rebirth(_ table: String, in db: Database) throws {
        guard table != "tag", let id = try existing(table, db) else { return }
        try db.cachedStatement(sql: "DELETE FROM \(table) WHERE id = ?").execute(arguments: [id])
        removed.insert(RowName(table: table, id: Rows.hex(id)))
        try insert("INSERT OR IGNORE", table, id, in: db)
    }

    private mutating func rename(in db: Database) throws {
        guard let old = try existing("step", db), try !isReferredTo(old, db) else { return }
        let new = anyID("step")
        guard try !exists("step", new, db) else { return }
        try db.cachedStatement(sql: "UPDATE step SET id = ? WHERE id = ?").execute(arguments: [new, old])
    }

    // MARK: - Draws

    private mutating func chance(_ part: Double) -> Bool { Double(random.next() >> 11) * 0x1p-53 < part }

    /// Returns a unique text. The server refuses some of them.
    private mutating func value() -> String {
        lastValue += 1
        let text = "d\(device)w\(number).\(lastValue)"
        return chance(0.02) ? "\(Refusals.prefix)\(text)" : text
    }

    private mutating func name() -> String? {
        let number = random.next() % 14
        return number < 2 ? nil : "name \(number)"
    }

    private mutating func rank() -> Int? { chance(0.3) ? nil : Int(random.next() % 5) }

    private mutating func anyID(_ table: String) -> Data {
        Tables.id(table, Int(random.next() % UInt64(Tables.idsPerTable)))
    }

    private mutating func existing(_ table: String, _ db: Database) throws -> Data? {
        let ids = try Data.fetchAll(db.cachedStatement(sql: "SELECT id FROM \(table) ORDER BY id"))
        return ids.isEmpty ? nil : ids[Int(random.next() % UInt64(ids.count))]
    }

    private func textColumn(_ table: String) -> String {
        switch table {
        case "list", "tag": "name"
        case "todo": "content"
        case "memo": "body"
        case "mark": "remark"
        default: "label"
        }
    }

    // MARK: - Queries

    private mutating func noteRebirth(_ table: String, _ id: Data, _ db: Database) throws {
        if try exists(table, id, db) { removed.insert(RowName(table: table, id: Rows.hex(id))) }
    }

    private func exists(_ table: String, _ id: Data, _ db: Database) throws -> Bool {
        try has("SELECT 1 FROM \(table) WHERE id = ?", id, db)
    }

    private func isRestricted(_ table: String, _ id: Data, _ db: Database) throws -> Bool {
        try table == "tag" && has("SELECT 1 FROM mark WHERE tagId = ?", id, db)
    }

    private func isReferredTo(_ step: Data, _ db: Database) throws -> Bool {
        try has("SELECT 1 FROM step WHERE parentId = ?", step, db)
    }

    private func has(_ sql: String, _ value: (any DatabaseValueConvertible)?, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT EXISTS (\(sql))"), arguments: [value]) ?? false
    }
}

enum Refusals {
    static let prefix = "refused "
}
