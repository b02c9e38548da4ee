// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// Makes rows pending that no capture trigger recorded: rows from before their table was synced, rows inserted by a
/// migration, and rows inserted by the app's triggers while a page was applied.
struct Adoption {
    let layout: TableLayout
    let db: Database

    /// Whether the app's triggers may insert rows while a page is applied. If so, the store looks for such rows at each
    /// opening.
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

    /// Makes pending the rows that do not have an entry, or whose entry marks them as deleted.
    ///
    /// - Parameters:
    ///   - stamp: The stamp of the rows' group.
    ///   - isOfMigrations: Whether migrations made the rows, not a user. Every device makes such rows, so they lose to
    ///     every user edit.
    /// - Returns: Whether there were such rows.
    /// - Throws: `OptimistError` with code `invalidTable` if an id is not a UUID in the table's form, so that the
    ///   server could not identify the row.
    func adopt(_ stamp: Stamp, isOfMigrations: Bool) throws -> Bool {
        let strangers = """
            FROM \(layout.quotedName) t WHERE NOT EXISTS \
            (SELECT 1 FROM optimist_edit e WHERE e.tbl = \(layout.number) AND e.id = t.id AND e.generation & 1) \
            AND NOT EXISTS (SELECT 1 FROM optimist_remote r WHERE r.tbl = \(layout.number) AND r.id = t.id \
            AND r.generation & 1 AND NOT EXISTS \
            (SELECT 1 FROM optimist_edit e WHERE e.tbl = r.tbl AND e.id = r.id))
            """
        try requireUUIDs(strangers)
        // A restored file adopts these rows again. The earliest stamp keeps them from winning over later counts.
        let earliest = EditClock.ofMigrations.stamp
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
                INSERT INTO optimist_edit(tbl, id, generation, grp, place, stamp, dirty)
                SELECT ?1, id, coalesce((SELECT generation FROM optimist_remote r WHERE r.tbl = ?1 AND r.id = t.id), 0) + 1,
                ?2, optimist_place(), ?4, ?3 \(strangers)
                ON CONFLICT(tbl, id) DO UPDATE SET generation = generation + 1, grp = excluded.grp, place = excluded.place,
                \(CaptureTriggers.reset())
                """,
            arguments: [
                layout.number, stamp.rawValue, layout.fullMask, (isOfMigrations ? earliest : stamp).rawValue,
            ])
        return db.changesCount > 0
    }

    private func requireUUIDs(_ strangers: String) throws {
        let isNoUUID = CaptureTriggers(layout: layout).isNoUUID("t")
        let hasOthers = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 \(strangers) AND (\(isNoUUID)))")
        if hasOthers != true { return }
        throw OptimistError(
            .invalidTable,
            """
            The table \(layout.name) has rows whose id is not a UUID \(layout.idForm.words). In a migration, rewrite \
            these ids, with lower(id) or as new UUIDs, and the references to them.
            """)
    }
}
