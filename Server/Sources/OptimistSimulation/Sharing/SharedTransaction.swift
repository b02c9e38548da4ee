// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

/// A random transaction of a person who shares.
struct SharedTransaction {
    private let tag: String
    private let statements: Int
    private var random: SplitMix64
    private var lastValue = 0

    struct Undo: Error {}

    init(tag: String, statements: Int, draw: UInt64) {
        self.tag = tag
        self.statements = statements
        random = SplitMix64(seed: draw)
    }

    /// - Throws: SQLite's errors, such as a violated constraint. Sometimes `Undo`, like an app that cancels a
    ///   transaction.
    mutating func run(in db: Database) throws {
        for _ in 0..<statements { try runOne(db) }
        if chance(0.05) { throw Undo() }
    }

    /// Moves a list or a tag.
    mutating func move(in db: Database) throws {
        let table = chance(0.8) ? "list" : "tag"
        guard let id = try any(table, db) else { return }
        // A statement that changes no value would be refused where the person may only read.
        try db.execute(
            sql: "UPDATE \(table) SET space = ?1 WHERE id = ?2 AND space IS NOT ?1", arguments: [try anySpace(db), id])
        if chance(0.4) { try runOne(db) }
    }

    private mutating func runOne(_ db: Database) throws {
        let tables = ["list", "todo", "todo", "todo", "step", "step", "tag", "memo", "mark"]
        let table = tables[Int(random.next() % UInt64(tables.count))]
        switch random.next() % 14 {
        case 0, 1, 2, 3, 4: try insert(table, db)
        case 5, 6, 7: try edit(table, db)
        case 8: try editAll(table, db)
        case 9: try reparent(table, db)
        case 10: try delete(table, db)
        case 11: try move(in: db)
        default: try count(db)
        }
    }

    // MARK: - Statements

    private mutating func insert(_ table: String, _ db: Database) throws {
        var values: [(String, (any DatabaseValueConvertible)?)] = [("id", newID())]
        if let text = SharedTables.texts[table] { values.append((text, value())) }
        for (column, target) in SharedTables.references[table] ?? [] {
            guard let id = try any(target, db) else {
                if target == "tag" { continue }
                return
            }
            if target != "tag" || chance(0.5) { values.append((column, id)) }
        }
        if SharedTables.roots.contains(table) { values.append(("space", try anySpace(db))) }
        let marks = values.map { _ in "?" }.joined(separator: ", ")
        try db.execute(
            sql: "INSERT INTO \(table)(\(values.map(\.0).joined(separator: ", "))) VALUES (\(marks))",
            arguments: StatementArguments(values.map(\.1)))
    }

    private mutating func edit(_ table: String, _ db: Database) throws {
        guard let id = try any(table, db), let column = SharedTables.texts[table] else { return }
        try db.execute(sql: "UPDATE \(table) SET \(column) = ? WHERE id = ?", arguments: [value(), id])
    }

    private mutating func editAll(_ table: String, _ db: Database) throws {
        guard let column = SharedTables.texts[table] else { return }
        try db.execute(sql: "UPDATE \(table) SET \(column) = ? || ' ' || hex(id)", arguments: [value()])
    }

    private mutating func reparent(_ table: String, _ db: Database) throws {
        guard let id = try any(table, db),
            let (column, target) = SharedTables.references[table]?.randomElement(using: &random)
        else { return }
        guard let parent = try any(target, db) else { return }
        try db.execute(sql: "UPDATE \(table) SET \(column) = ? WHERE id = ?", arguments: [parent, id])
    }

    private mutating func delete(_ table: String, _ db: Database) throws {
        guard let id = try any(table, db) else { return }
        try db.execute(sql: "DELETE FROM \(table) WHERE id = ?", arguments: [id])
    }

    private mutating func count(_ db: Database) throws {
        guard let id = try any("todo", db) else { return }
        try db.execute(
            sql: "UPDATE todo SET points = points + ? WHERE id = ?", arguments: [Int(random.next() % 3) + 1, id])
    }

    // MARK: - Draws

    private mutating func chance(_ part: Double) -> Bool { Double(random.next() >> 11) * 0x1p-53 < part }

    /// Returns a text of this write.
    private mutating func value() -> String {
        lastValue += 1
        return "\(tag).\(lastValue)"
    }

    private mutating func newID() -> Data {
        var bytes = [random.next(), random.next()].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
        }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return Data(bytes)
    }

    private mutating func any(_ table: String, _ db: Database) throws -> Data? {
        let ids = try Data.fetchAll(db.cachedStatement(sql: "SELECT id FROM \(table) ORDER BY id"))
        return ids.isEmpty ? nil : ids[Int(random.next() % UInt64(ids.count))]
    }

    /// A space that the person uses, or none.
    private mutating func anySpace(_ db: Database) throws -> Data? {
        let ids = try Data.fetchAll(db.cachedStatement(sql: "SELECT id FROM optimist_spaces ORDER BY id"))
        let number = Int(random.next() % UInt64(ids.count + 1))
        return number == ids.count ? nil : ids[number]
    }
}
