// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// Makes rows pending that no trigger saw: those that were there before their table was synced, that a migration made,
/// or that a trigger of the app's own made while a page was applied.
struct Adoption {
    let layout: TableLayout
    let db: Database

    /// Whether the app's own triggers may write rows while a page is applied. Such rows are looked for at each opening.
    static func isNeeded(for layouts: [TableLayout], in db: Database) throws -> Bool {
        let names = Set(layouts.map { $0.name.lowercased() })
        let triggers = try String.fetchAll(
            db,
            sql: "SELECT lower(sql) FROM sqlite_master WHERE type = 'trigger' AND name NOT GLOB 'optimist_*'")
        return triggers.contains { trigger in
            guard let body = trigger.range(of: "begin") else { return false }
            let words = trigger[body.upperBound...].split { !($0.isLetter || $0.isNumber || $0 == "_") }
            return words.contains("into") && words.contains { names.contains(String($0)) }
        }
    }

    /// Makes rows without an entry pending, and rows whose entry says that they are deleted.
    ///
    /// - Returns: Whether there were any.
    /// - Throws: `OptimistError` with code `invalidTable`, if the server could not know one of them by its id.
    func adopt(_ stamp: Stamp) throws -> Bool {
        let strangers = """
            FROM \(layout.quotedName) t WHERE NOT EXISTS \
            (SELECT 1 FROM optimist_row r WHERE r.tbl = \(layout.number) AND r.id = t.id AND r.generation & 1)
            """
        try requireUUIDs(strangers)
        // An earlier state of the file would adopt them once more, and must not win over what was counted since.
        let earliest = Stamp(rawValue: 1)
        for column in layout.counters {
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO optimist_counter(tbl, id, bit, node, total, stamp)
                    SELECT ?, id, ?, (SELECT value FROM optimist_meta WHERE name = 'node'), "\(column.name)", ?
                    \(strangers) AND coalesce("\(column.name)", 0) <> 0
                    """, arguments: [layout.number, column.bit, earliest.rawValue])
        }
        try db.execute(
            sql: """
                INSERT INTO optimist_row(tbl, id, generation, pending, stamp, dirty)
                SELECT ?1, id, 1, ?2, ?2, ?3 \(strangers)
                ON CONFLICT(tbl, id) DO UPDATE SET generation = generation + 1, pending = excluded.pending,
                stamp = excluded.stamp, stamps = NULL, dirty = excluded.dirty, base = NULL, due = NULL, blocked = NULL
                """, arguments: [layout.number, stamp.rawValue, layout.fullMask])
        return db.changesCount > 0
    }

    private func requireUUIDs(_ strangers: String) throws {
        let isNoUUID = CaptureTriggers(layout: layout).isNoUUID("t")
        let hasOthers = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 \(strangers) AND (\(isNoUUID)))")
        if hasOthers != true { return }
        throw OptimistError(
            .invalidTable,
            """
            The table \(layout.name) has rows whose id is no UUID \(layout.idForm.words). Rewrite such ids in a migration, \
            by lower(id) or as new UUIDs, and with them what refers to them.
            """)
    }
}
