// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension EngineSchema {
    /// Turns values that the server has lost into unsent edits with the clocks of their writers, and stores the reason
    /// for which a received row waits as a number.
    static func upgradeToVersion5(_ db: Database) throws {
        // The triggers name a column that this upgrade drops. They are created again when their table is prepared.
        try CaptureTriggers.removeAll(in: db)
        try db.execute(sql: lostValuesBecomeEdits)
        try db.execute(
            sql: """
                UPDATE optimist_row SET pending = NULL, stamp = NULL, stamps = NULL, sent = 0, base = NULL, due = NULL,
                blocked = NULL, retries = 0 WHERE pending IS NOT NULL AND dirty = 0;
                ALTER TABLE optimist_row DROP COLUMN healing;
                CREATE TABLE optimist_parked_4 AS SELECT * FROM optimist_parked;
                DROP TABLE optimist_parked;
                CREATE TABLE optimist_parked(           -- rows received that could not be applied yet
                    tbl INTEGER NOT NULL, id NOT NULL, seq INTEGER NOT NULL, row TEXT NOT NULL,
                    reason INTEGER NOT NULL,            -- see ParkedReason.Kind
                    message TEXT,                       -- what SQLite said, null: it did not refuse the row
                    parentTable INTEGER, parent,        -- the row it refers to, if that is missing
                    PRIMARY KEY(tbl, id)
                );
                CREATE INDEX optimist_parked_parent ON optimist_parked(parentTable, parent)
                    WHERE parentTable IS NOT NULL;
                INSERT INTO optimist_parked
                SELECT tbl, id, seq, row, CASE
                WHEN reason = 'rows that refer to it may have another owner by now' THEN 3
                WHEN reason = 'rows that it refers to in a cycle wait for another one' THEN 4
                WHEN reason = 'what is to be sent of the row comes first' THEN 5
                WHEN reason LIKE 'UNIQUE constraint failed%' THEN 2 ELSE 1 END,
                CASE WHEN reason LIKE '%constraint failed%' THEN reason END, parentTable, parent
                FROM optimist_parked_4;
                DROP TABLE optimist_parked_4;
                """)
    }

    /// Each column with a value from the server becomes dirty, and `stamps` holds its clock as text. A clock of zeros
    /// stands for a value or a deletion that came without a clock.
    private static let lostValuesBecomeEdits = """
        WITH cell AS (
            SELECT r.key, c.name, c.bit,
            CASE WHEN EXISTS (SELECT 1 FROM optimist_table t, json_each(t.counters) j
                WHERE t.number = r.tbl AND j.value = c.name)
            THEN (SELECT printf('%016x', k.stamp) || '-' || n.device
                FROM optimist_counter k JOIN optimist_node n ON n.number = k.node
                WHERE k.tbl = r.tbl AND k.id = r.id AND k.bit = c.bit ORDER BY k.stamp DESC LIMIT 1)
            WHEN r.known >> c.bit & 1
            THEN nullif(coalesce(r.clocks ->> ('$."' || c.name || '"'), printf('%016x', r.clock) || '-' || n.device),
                '0000000000000000-0')
            END AS clock
            FROM optimist_row r JOIN optimist_column c ON c.tbl = r.tbl AND c.bit > 0
            LEFT JOIN optimist_node n ON n.number = r.node AND r.clock <> 0
            WHERE r.healing AND r.acked = r.generation AND r.generation & 1 AND NOT r.dirty >> c.bit & 1
        ), lost AS (
            SELECT r.key,
            CASE WHEN r.generation & 1 OR NOT r.dirty & 1 OR r.clock > coalesce(r.stamp, r.pending)
            THEN coalesce(printf('%016x', r.clock) || '-' || n.device, '0000000000000000-0') END AS life,
            (SELECT json_group_object(name, clock) FROM cell WHERE cell.key = r.key AND clock IS NOT NULL) AS clocks,
            (SELECT coalesce(sum(1 << bit), 0) FROM cell WHERE cell.key = r.key AND clock IS NOT NULL) AS mask
            FROM optimist_row r LEFT JOIN optimist_node n ON n.number = r.node AND r.clock <> 0
            WHERE r.healing AND r.acked = r.generation
        )
        UPDATE optimist_row SET
        stamps = json_patch(json_patch(coalesce(stamps, '{}'), lost.clocks), json_object('@life', lost.life)),
        dirty = dirty | lost.mask | 1, sent = sent | lost.mask | 1, acked = 0, due = NULL, blocked = NULL
        FROM lost WHERE lost.key = optimist_row.key
        """
}
