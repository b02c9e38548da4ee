// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// The triggers that record the user's changes to a synced table in `optimist_edit`, in the same transaction.
///
/// Invariant: a user's change and its entry commit together. The entry lists each changed column until the server
/// answers, or until the user restores the server's value and no other value may have been sent.
///
/// Each trigger calls a function that exists only on the connections of a ``Store``. Any other writer fails with "no
/// such function: write_through_Optimist_Store", because its rows would never be sent. SQLite reports only the
/// function's name, so the name says what to do. While the engine writes, for example to apply a page, the function
/// returns null and the triggers record nothing.
///
/// > Source: SQLite, "CREATE TRIGGER". `UPDATE OF` fires for every statement that names a column, so values are
/// > compared. `IS NOT` uses the column's collation, so the comparison is forced to be binary.
struct CaptureTriggers {
    /// The function that every trigger calls. After a renaming, opening a file replaces its triggers.
    static let function = "write_through_Optimist_Store"

    let layout: TableLayout

    var definitions: [(name: String, sql: String)] {
        [
            ("optimist_insert_\(layout.name)", insert), ("optimist_update_\(layout.name)", update),
            ("optimist_rename_\(layout.name)", rename), ("optimist_delete_\(layout.name)", delete),
        ] + counterDefinitions
    }

    /// Creates the missing triggers and replaces outdated ones. Returns whether there were any.
    ///
    /// - Parameter present: The SQL of the file's triggers, by name.
    func install(in db: Database, beside present: [String: String]) throws -> Bool {
        let missing = definitions.filter { present[$0.name] != $0.sql }
        for trigger in missing {
            try db.execute(sql: "DROP TRIGGER IF EXISTS \(trigger.name)")
            // Without `main.`, SQLite would attach the trigger to a temporary table of the same name.
            try db.execute(
                sql: trigger.sql.replacing("CREATE TRIGGER ", with: "CREATE TRIGGER main.", maxReplacements: 1))
        }
        return !missing.isEmpty
    }

    /// Drops the triggers of all synced tables, so that migrations can alter the tables and columns that the triggers
    /// name.
    static func removeAll(in db: Database) throws {
        let names = try String.fetchAll(
            db,
            sql:
                "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name GLOB 'optimist_*' AND name NOT GLOB '\(MigrationCapture.marks)'"
        )
        for name in names { try db.execute(sql: "DROP TRIGGER \"\(name)\"") }
    }

    // MARK: - The four triggers

    private var insert: String {
        """
        CREATE TRIGGER optimist_insert_\(layout.name) AFTER INSERT ON "\(layout.name)"
        WHEN \(judged("NEW")) IS NOT NULL
        BEGIN
        \(began("NEW"));
        END
        """
    }

    private var delete: String {
        """
        CREATE TRIGGER optimist_delete_\(layout.name) AFTER DELETE ON "\(layout.name)"
        WHEN \(leaving("OLD")) IS NOT NULL
        BEGIN
        \(ended("OLD"));
        END
        """
    }

    /// A changed primary key ends one row's life and begins another's.
    private var rename: String {
        """
        CREATE TRIGGER optimist_rename_\(layout.name) AFTER UPDATE OF id ON "\(layout.name)"
        WHEN NEW.id IS NOT OLD.id AND \(judged("NEW", "OLD")) IS NOT NULL AND \(stamp("OLD")) IS NOT NULL
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
            WHEN NEW.id IS OLD.id AND (\(each(" OR ") { changed($0) })) AND \(judged("NEW", "OLD")) IS NOT NULL
            BEGIN
            \(marked);
            END
            """
    }

    // MARK: - The effects on optimist_edit

    /// Whether an id is not a canonical UUID. The server and the other devices would know the row by a different id.
    func isNoUUID(_ row: String) -> String {
        let hex = { String(repeating: "[0-9a-f]", count: $0) }
        return switch layout.idForm {
        case .bytes: "typeof(\(row).id) <> 'blob' OR length(\(row).id) <> 16"
        case .text:
            // GLOB alone would stop at a zero byte and accept blobs.
            "typeof(\(row).id) <> 'text' OR length(CAST(\(row).id AS BLOB)) <> 36 OR \(row).id NOT GLOB "
                + "'\([8, 4, 4, 4, 12].map(hex).joined(separator: "-"))'"
        }
    }

    /// Begins a row's life, with every column unsent.
    private func began(_ row: String) -> String {
        """
        SELECT RAISE(ABORT, 'the id of a row in \(layout.name) needs to be a UUID, \(layout.idForm.words)')
        WHERE \(isNoUUID(row));
        INSERT INTO optimist_edit(tbl, id, generation, grp, place, stamp, dirty)
        VALUES (\(layout.number), \(row).id,
        coalesce((SELECT generation + 1 + (generation & 1) FROM optimist_remote WHERE \(isKey(row))), 1),
        optimist_group(NULL), optimist_place(), \(stamp(row)), \(layout.fullMask))
        ON CONFLICT(tbl, id) DO UPDATE SET generation = generation + 1 + (generation & 1), \(Self.reset())
        WHERE optimist_group(grp) IS NOT NULL
        """
    }

    /// Ends a row's life.
    ///
    /// The edit becomes a deletion if the server has the row alive, if this life may have been sent, or if the row
    /// outlives an earlier deletion (M2). Otherwise the edit is deleted. If this life was never sent, the deletion ends
    /// the life that the server knows. If the row outlives an earlier deletion, the new deletion gets the present time,
    /// and the earlier time is forgotten.
    ///
    /// Each case is a separate statement, because SQLite builds a temporary table for an `INSERT` that reads the table
    /// that it writes.
    private func ended(_ row: String) -> String {
        let remote = "(SELECT r.generation + (r.generation & 1) FROM optimist_remote r WHERE \(isKey(row, of: "r.")))"
        return """
            \(adopted(row));
            INSERT INTO optimist_edit(tbl, id, generation, grp, place, stamp, dirty)
            SELECT tbl, id, generation + 1, optimist_group(NULL), optimist_place(), \(stamp(row)), \(TableLayout.lifeMask)
            FROM optimist_remote WHERE \(isKey(row)) AND generation & 1
            ON CONFLICT(tbl, id) DO UPDATE SET
            generation = max(CASE WHEN \(maybeSent) = 0 THEN 0 ELSE generation + (generation & 1) END, excluded.generation),
            \(Self.reset());
            UPDATE optimist_remote SET clock = 0, clocks = NULL WHERE \(isKey(row)) AND NOT generation & 1
            AND generation > (SELECT e.generation FROM optimist_edit e WHERE \(isKey(row, of: "e.")));
            UPDATE optimist_edit SET
            generation = max(CASE WHEN \(maybeSent) = 0 THEN 0 ELSE generation + 1 END, coalesce(\(remote), 0)),
            \(Self.reset(stamp: stamp(row), dirty: "\(TableLayout.lifeMask)"))
            WHERE \(isKey(row)) AND generation & 1 AND (\(maybeSent) <> 0 OR \(remote) > generation);
            DELETE FROM optimist_edit WHERE \(isKey(row)) AND generation & 1;
            DELETE FROM optimist_remote WHERE \(isKey(row)) AND generation = 0
            AND NOT EXISTS (SELECT 1 FROM optimist_edit e WHERE \(isKey(row, of: "e.")))
            """
    }

    /// Assignments that clear everything that an edit recorded of an earlier life.
    static func reset(stamp: String = "excluded.stamp", dirty: String = "excluded.dirty") -> String {
        "stamp = \(stamp), stamps = NULL, dirty = \(dirty), base = NULL, due = NULL, blocked = NULL"
    }

    /// Adds the transaction to the group of the row's earlier edit, if there is one (S2).
    private func adopted(_ row: String) -> String {
        "SELECT optimist_group(grp) FROM optimist_edit WHERE \(isKey(row))"
    }

    /// Marks and stamps the changed columns, and saves the server's values of newly changed columns. Unmarks a column
    /// that has the server's value again, unless another value may have been sent.
    ///
    /// A row without an edit is in the server's life. An edit with base values is in the server's life or in a life
    /// that the server has lost. The conditions are ordered so that SQLite parses JSON only for columns that were
    /// already dirty.
    ///
    /// A row that the engine does not know yet gets an edit with generation 0, which the last statement deletes.
    /// ``Adoption`` makes the full row pending instead (W5).
    private var marked: String {
        let mask = bits(of: changed)
        // In the upsert, `excluded.dirty` is the mask of the columns that this write changed.
        let isMarked = { (column: TableLayout.Column) in "excluded.dirty & \(column.mask)" }
        let back = back(of: isMarked)
        let stamped = each(", ") {
            "'\($0.name)', CASE WHEN \(isMarked($0)) THEN excluded.stamp ELSE stamps ->> '$.\($0.name)' END"
        }
        let forgotten = each(", ") { "CASE WHEN \(isBack($0, of: isMarked)) THEN '$.\($0.name)' ELSE '$.@' END" }
        let base = "json_patch(\(former { "\(isMarked($0)) AND \(isUntouched($0))" }), base)"
        return """
            \(adopted("NEW")) AND (dirty | \(mask)) & ~\(self.back(of: changed)) <> 0;
            INSERT INTO optimist_edit(tbl, id, generation, grp, place, stamp, dirty, base)
            VALUES (\(layout.number), NEW.id,
            coalesce((SELECT generation FROM optimist_remote WHERE \(isKey("NEW"))), 0),
            optimist_group(NULL), optimist_place(), \(stamp("NEW")), \(mask), \(former(changed)))
            ON CONFLICT(tbl, id) DO UPDATE SET
            stamps = CASE WHEN dirty & ~excluded.dirty = 0 THEN NULL
            WHEN stamps IS NULL AND stamp = excluded.stamp THEN NULL
            ELSE json_patch(coalesce(stamps, '{}'), json_object(\(stamped))) END,
            stamp = CASE WHEN dirty & ~excluded.dirty = 0 THEN excluded.stamp ELSE stamp END,
            base = CASE WHEN base IS NULL THEN NULL WHEN \(back) <> 0 THEN json_remove(\(base), \(forgotten))
            WHEN excluded.dirty & ~dirty = 0 AND \(isNotRestored) THEN base ELSE \(base) END,
            dirty = (dirty | excluded.dirty) & ~\(back), unread = unread & ~\(back), due = NULL, blocked = NULL;
            DELETE FROM optimist_edit WHERE \(isKey("NEW")) AND (dirty = 0 OR generation = 0)
            """
    }

    /// The values before the write, for the columns that meet a condition: see ``FormerValues``.
    private func former(_ condition: (TableLayout.Column) -> String) -> String {
        "optimist_former(\(each(", ") { "CASE WHEN \(condition($0)) THEN '\($0.name)' END, OLD.\"\($0.name)\"" }))"
    }

    /// Whether a column still has the server's value: it is clean, or dirty only because the server lost the value.
    private func isUntouched(_ column: TableLayout.Column) -> String {
        "(dirty & \(column.mask) = 0 OR json_type(stamps, '$.\(column.name)') = 'text')"
    }

    private var isNotRestored: String { "stamps ->> '$.\(RowEntryTable.lifeKey)' IS NULL" }

    /// Mask of the columns that the server may have received but has not answered.
    ///
    /// Usually the sent columns. All columns if the edit is older than this launch and the server has not confirmed the
    /// file: the file may be an older copy, made before its edits were sent (L3).
    private var maybeSent: String { "(CASE WHEN place > optimist_unconfirmed() THEN sent ELSE -1 END)" }

    /// Mask of the changed columns that get the server's value back. Zero unless the row is in the server's life.
    private func back(of isChanged: (TableLayout.Column) -> String) -> String {
        """
        (CASE WHEN generation = (SELECT r.generation FROM optimist_remote r WHERE \(isKey("NEW", of: "r."))) \
        THEN \(bits(of: { isBack($0, of: isChanged) })) ELSE 0 END)
        """
    }

    /// Whether a write sets a dirty column back to the server's value, assuming that the row is in the server's life.
    /// False for a clean column, because any change to it differs from the server's value.
    private func isBack(_ column: TableLayout.Column, of isChanged: (TableLayout.Column) -> String) -> String {
        "CASE WHEN \(isChanged(column)) AND dirty & ~\(maybeSent) & \(column.mask) <> 0 "
            + "THEN optimist_is_literal(base ->> '$.\(column.name)', NEW.\"\(column.name)\") "
            + (column.isCounter ? "AND NOT \(hasUnsentOfOtherOrigins(column)) " : "") + "ELSE 0 END"
    }

    // MARK: - Pieces

    /// - Parameter name: The entry's table name or alias, with the dot.
    private func isKey(_ row: String, of name: String = "") -> String {
        "\(name)tbl = \(layout.number) AND \(name)id = \(row).id"
    }

    func stamp(_ row: String) -> String { "\(Self.function)(\(layout.number), \(row).id)" }

    /// The stamp, or an error if the row is too large to send or a value does not fit its column: see ``WrittenRow``.
    private func judged(_ row: String, _ former: String? = nil) -> String {
        if layout.columns.isEmpty { return stamp(row) }
        let letters = layout.columns.map(\.form.letter).joined()
        let values = ([row] + [former].compactMap(\.self)).flatMap { row in
            layout.columns.map { "\(row).\"\($0.name)\"" }
        }
        return "\(Self.function)(\(layout.number), \(row).id, '\(letters)', \(values.joined(separator: ", ")))"
    }

    /// The stamp. For a table whose rows can be in a space, it also reports the deleted row's values.
    private func leaving(_ row: String) -> String {
        guard layout.rules.space != nil else { return stamp(row) }
        let values = layout.columns.map { "\(row).\"\($0.name)\"" }.joined(separator: ", ")
        return "\(Self.function)(\(layout.number), \(row).id, '', \(values))"
    }

    func changed(_ column: TableLayout.Column) -> String {
        "NEW.\"\(column.name)\" COLLATE BINARY IS NOT OLD.\"\(column.name)\""
    }

    private func bits(of condition: (TableLayout.Column) -> String) -> String {
        "(\(each(" | ") { "CASE WHEN \(condition($0)) THEN \($0.mask) ELSE 0 END" }))"
    }

    private func each(_ separator: String, _ piece: (TableLayout.Column) -> String) -> String {
        layout.columns.map(piece).joined(separator: separator)
    }
}
