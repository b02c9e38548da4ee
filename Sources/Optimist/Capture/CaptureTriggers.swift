// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// The triggers that mark what a write changed, inside the write's own transaction.
///
/// Each calls a function that exists only on connections that a ``Store`` opened. Any other writer fails with "no such
/// function: write_through_Optimist_Store", because its rows would never be sent: the name is all that SQLite shows, so
/// it says what to do. While a page is applied the function answers null, and nothing is marked.
///
/// > Source: SQLite, "CREATE TRIGGER". `UPDATE OF` fires for every statement that names a column, so values are compared;
/// > `IS NOT` follows the column's collation, so the comparison is forced to be binary.
struct CaptureTriggers {
    /// The function that every trigger calls. A file in which triggers call it by another name gets new ones when it is
    /// opened.
    static let function = "write_through_Optimist_Store"

    let layout: TableLayout

    /// The statements that bring a table's triggers to what they should be, by name.
    var definitions: [(name: String, sql: String)] {
        [
            ("optimist_insert_\(layout.name)", insert), ("optimist_update_\(layout.name)", update),
            ("optimist_rename_\(layout.name)", rename), ("optimist_delete_\(layout.name)", delete),
        ] + counterDefinitions
    }

    /// Creates the triggers that are missing or differ. Returns whether there were any.
    ///
    /// - Parameter present: The statements of the triggers that the file has, by name.
    func install(in db: Database, beside present: [String: String]) throws -> Bool {
        let missing = definitions.filter { present[$0.name] != $0.sql }
        for trigger in missing {
            try db.execute(sql: "DROP TRIGGER IF EXISTS \(trigger.name)")
            try db.execute(sql: trigger.sql)
        }
        return !missing.isEmpty
    }

    /// Drops the triggers of every synced table, so that a migration may alter what they name.
    static func removeAll(in db: Database) throws {
        let names = try String.fetchAll(
            db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name GLOB 'optimist_*'")
        for name in names { try db.execute(sql: "DROP TRIGGER \"\(name)\"") }
    }

    // MARK: - The four triggers

    private var insert: String {
        """
        CREATE TRIGGER optimist_insert_\(layout.name) AFTER INSERT ON "\(layout.name)"
        WHEN \(weighed("NEW")) IS NOT NULL
        BEGIN
        \(began("NEW"));
        END
        """
    }

    private var delete: String {
        """
        CREATE TRIGGER optimist_delete_\(layout.name) AFTER DELETE ON "\(layout.name)"
        WHEN \(stamp("OLD")) IS NOT NULL
        BEGIN
        \(ended("OLD"));
        END
        """
    }

    /// A changed primary key is another row.
    private var rename: String {
        """
        CREATE TRIGGER optimist_rename_\(layout.name) AFTER UPDATE OF id ON "\(layout.name)"
        WHEN NEW.id IS NOT OLD.id AND \(stamp("NEW")) IS NOT NULL AND \(stamp("OLD")) IS NOT NULL
        BEGIN
        \(ended("OLD"));
        \(began("NEW"));
        END
        """
    }

    private var update: String {
        guard !layout.columns.isEmpty else {
            return
                "CREATE TRIGGER optimist_update_\(layout.name) AFTER UPDATE ON \"\(layout.name)\" WHEN 0 BEGIN SELECT 1; END"
        }
        return """
            CREATE TRIGGER optimist_update_\(layout.name) AFTER UPDATE ON "\(layout.name)"
            WHEN NEW.id IS OLD.id AND (\(each(" OR ") { changed($0) })) AND \(weighed("NEW", "OLD")) IS NOT NULL
            BEGIN
            \(marked);
            END
            """
    }

    // MARK: - What they do to optimist_row

    /// True for an id that differs from the one by which the server and the other devices would know the row.
    func isNoUUID(_ row: String) -> String {
        let hex = { String(repeating: "[0-9a-f]", count: $0) }
        return switch layout.idForm {
        case .bytes: "typeof(\(row).id) <> 'blob' OR length(\(row).id) <> 16"
        case .text: "\(row).id NOT GLOB '\([8, 4, 4, 4, 12].map(hex).joined(separator: "-"))'"
        }
    }

    /// A row's life began: all of it is unsent.
    private func began(_ row: String) -> String {
        """
        SELECT RAISE(ABORT, 'the id of a row in \(layout.name) needs to be a UUID, \(layout.idForm.words)')
        WHERE \(isNoUUID(row));
        INSERT INTO optimist_row(tbl, id, generation, pending, stamp, dirty)
        VALUES (\(layout.number), \(row).id, 1, optimist_group(NULL), \(stamp(row)), \(layout.fullMask))
        ON CONFLICT(tbl, id) DO UPDATE SET generation = generation + 1 + (generation & 1),
        pending = optimist_group(pending), stamp = excluded.stamp, stamps = NULL, \(withoutOutlived),
        dirty = excluded.dirty, base = NULL, due = NULL, blocked = NULL
        """
    }

    /// A row's life ended. One that never left the device leaves no trace: the row is deleted in the life that the server
    /// knows, if that is not over already. One that has outlived its deletion is deleted once more, as of now (M2).
    private func ended(_ row: String) -> String {
        let hasLeft = "(sent <> 0 OR acked & 1 OR acked > generation)"
        // The transaction adopts the group of the row, whatever becomes of that.
        let stays = "optimist_group(pending) IS NOT NULL AND (\(hasLeft) OR healing)"
        return """
            UPDATE optimist_row SET generation = CASE WHEN sent = 0 THEN acked + (acked & 1)
            ELSE generation + (generation & 1) END,
            pending = CASE WHEN \(stays) THEN optimist_group(pending) END,
            stamp = CASE WHEN \(hasLeft) OR healing THEN \(stamp(row)) END, stamps = NULL, \(withoutOutlived),
            dirty = CASE WHEN \(hasLeft) THEN \(TableLayout.lifeMask) ELSE 0 END, base = NULL, due = NULL, blocked = NULL
            WHERE tbl = \(layout.number) AND id = \(row).id;
            DELETE FROM optimist_row WHERE tbl = \(layout.number) AND id = \(row).id AND acked = 0 AND sent = 0
            """
    }

    /// Unconfirms the clocks of a life that has outlived its deletion, as it ends: the time of that deletion is no
    /// longer known.
    private var withoutOutlived: String {
        let outlived = "acked > generation AND NOT acked & 1"
        return """
            clock = CASE WHEN \(outlived) THEN 0 ELSE clock END, clocks = CASE WHEN \(outlived) THEN NULL ELSE clocks END
            """
    }

    /// Marks what changed, stamps it, and keeps what the server holds of it. Unmarks what is again as the server has it,
    /// unless something else was sent and is unanswered.
    ///
    /// One statement does both, and JSON is read only for columns that were dirty before. A second statement took a
    /// third longer, and so did `AND`: SQLite computes both sides of it outside a condition.
    private var marked: String {
        let mask = bits(of: changed)
        let back = bits(of: isBack)
        let dirty = "((dirty | \(mask)) & ~\(back))"
        let stamped = each(", ") {
            "'\($0.name)', CASE WHEN \(changed($0)) THEN \(stamp("NEW")) ELSE stamps ->> '$.\($0.name)' END"
        }
        let confirmed = each(", ") {
            let first = "\(changed($0)) AND dirty & \($0.mask) = 0"
            return
                "CASE WHEN \(first) THEN '$.\($0.name)' ELSE '$' END, CASE WHEN \(first) THEN quote(OLD.\"\($0.name)\") END"
        }
        let base = "json_insert(coalesce(base, '{}'), \(confirmed))"
        let forgotten = each(", ") { "CASE WHEN \(isBack($0)) THEN '$.\($0.name)' ELSE '$.@' END" }
        return """
            UPDATE optimist_row SET
            stamps = CASE WHEN dirty & ~\(mask) = 0 THEN NULL
            WHEN stamps IS NULL AND stamp = \(stamp("NEW")) THEN NULL
            ELSE json_patch(coalesce(stamps, '{}'), json_object(\(stamped))) END,
            stamp = CASE WHEN dirty & ~\(mask) = 0 THEN \(stamp("NEW")) ELSE stamp END,
            base = CASE WHEN acked < generation THEN base WHEN \(dirty) = 0 THEN NULL
            WHEN \(back) <> 0 THEN json_remove(\(base), \(forgotten))
            WHEN \(mask) & ~dirty = 0 THEN base ELSE \(base) END,
            pending = CASE WHEN \(dirty) <> 0 OR healing THEN optimist_group(pending) END,
            dirty = \(dirty), due = NULL, blocked = NULL
            WHERE tbl = \(layout.number) AND id = NEW.id
            """
    }

    /// Whether a column is again as the server has it. It was dirty before: one that leaves the server's value is not.
    private func isBack(_ column: TableLayout.Column) -> String {
        "\(changed(column)) AND dirty & ~sent & \(column.mask) <> 0 AND acked = generation "
            + "AND base ->> '$.\(column.name)' IS quote(NEW.\"\(column.name)\")"
            + (column.isCounter ? " AND NOT \(hasUnsentOfOtherOrigins(column))" : "")
    }

    // MARK: - Pieces

    func stamp(_ row: String) -> String { "\(Self.function)(\(layout.number), \(row).id)" }

    /// The stamp, unless the row is too large to be sent: see `CaptureContext`. Only columns that may be large are weighed.
    private func weighed(_ row: String, _ former: String? = nil) -> String {
        let names = layout.columns.filter(\.form.mayBeLarge).map { "\"\($0.name)\"" }
        if names.isEmpty { return stamp(row) }
        let values = ([row] + [former].compactMap(\.self)).flatMap { row in names.map { "\(row).\($0)" } }
        return "\(Self.function)(\(layout.number), \(row).id, \(names.count), \(values.joined(separator: ", ")))"
    }

    func changed(_ column: TableLayout.Column) -> String {
        "NEW.\"\(column.name)\" COLLATE BINARY IS NOT OLD.\"\(column.name)\""
    }

    /// The mask of the columns for which a condition holds.
    private func bits(of condition: (TableLayout.Column) -> String) -> String {
        "(\(each(" | ") { "CASE WHEN \(condition($0)) THEN \($0.mask) ELSE 0 END" }))"
    }

    private func each(_ separator: String, _ piece: (TableLayout.Column) -> String) -> String {
        layout.columns.map(piece).joined(separator: separator)
    }
}
