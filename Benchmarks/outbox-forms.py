#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Compares ways to store an outbox in plain SQLite, to measure the cost of triggers without the cost of a library.

For each row of a to-do list, every form stores which columns are unsent, since when, and the server's values of them.
A round creates a new file for each form and measures four things: inserting rows, changing a column of rows that the
server has, changing the same rows again while they are pending, and the size of the file. The table shows the medians of
their ratios to the same round without an outbox.

Times are CPU times: commits do not wait for the disk (synchronous = NORMAL). The timestamp is a constant; the Swift
benchmarks measure the function that returns it.
"""

import argparse
import pathlib
import sqlite3
import statistics
import tempfile
import time
import uuid

STAMP = 17_000_000_000_000_000
COLUMNS = ["content", "date", "priority", "done", "alarm"]
ALL = (1 << (len(COLUMNS) + 1)) - 1  # Bit 0 is the row's life.

ROW_COLUMNS = """
    tbl INTEGER NOT NULL, id BLOB NOT NULL, generation INTEGER NOT NULL DEFAULT 1, acked INTEGER NOT NULL DEFAULT 0,
    seq INTEGER NOT NULL DEFAULT 0, clock INTEGER NOT NULL DEFAULT 0, node INTEGER NOT NULL DEFAULT 0, clocks TEXT,
    pending INTEGER, stamp INTEGER, stamps TEXT, dirty INTEGER NOT NULL DEFAULT 0, sent INTEGER NOT NULL DEFAULT 0,
    base TEXT, settled INTEGER NOT NULL DEFAULT 0
"""

CHANGED = {name: f"NEW.{name} IS NOT OLD.{name}" for name in COLUMNS}
ANY_CHANGED = " OR ".join(CHANGED.values())
MASK = "(" + " | ".join(f"(({CHANGED[name]}) << {bit})" for bit, name in enumerate(COLUMNS, 1)) + ")"


def quoted(name):
    return f"CASE WHEN {CHANGED[name]} THEN quote(OLD.{name}) END"


# The server's values of the changed columns, by `json_insert` or by concatenation.
BASE_INSERTED = "json_insert(coalesce(base, '{}'), " + ", ".join(
    f"CASE WHEN {CHANGED[name]} THEN '$.{name}' ELSE '$' END, {quoted(name)}" for name in COLUMNS) + ")"
BASE_TEXT = "'{' || substr(" + " || ".join(
    f"CASE WHEN {CHANGED[name]} THEN ',\"{name}\":' || json_quote(quote(OLD.{name})) ELSE '' END" for name in COLUMNS
) + ", 2) || '}'"
BASE_CONCATENATED = f"CASE WHEN base IS NULL THEN {BASE_TEXT} ELSE json_patch({BASE_TEXT}, base) END"


def row_triggers(base):
    """Triggers that keep one row of `outbox` for each row of the app."""
    stamps = ", ".join(f"'{n}', CASE WHEN {CHANGED[n]} THEN {STAMP} ELSE stamps ->> '$.{n}' END" for n in COLUMNS)
    return [
        f"""CREATE TRIGGER inserted AFTER INSERT ON todo BEGIN
            INSERT INTO outbox(tbl, id, pending, dirty) VALUES (1, NEW.id, {STAMP}, {ALL})
            ON CONFLICT(tbl, id) DO UPDATE SET generation = generation + 1 + (generation & 1), stamp = {STAMP},
            stamps = NULL, pending = coalesce(pending, excluded.pending), dirty = {ALL}, base = NULL; END""",
        f"""CREATE TRIGGER updated AFTER UPDATE ON todo WHEN {ANY_CHANGED} BEGIN
            UPDATE outbox SET
            stamps = CASE WHEN dirty & ~{MASK} = 0 THEN NULL
                ELSE json_patch(coalesce(stamps, '{{}}'), json_object({stamps})) END,
            stamp = CASE WHEN pending IS NULL THEN NULL WHEN dirty & ~{MASK} = 0 THEN {STAMP} ELSE stamp END,
            base = CASE WHEN acked = 0 OR {MASK} & ~dirty = 0 THEN base ELSE {base} END,
            pending = coalesce(pending, {STAMP}), dirty = dirty | {MASK}
            WHERE tbl = 1 AND id = NEW.id; END""",
    ]


def keyed_by_id():
    return [f"CREATE TABLE outbox({ROW_COLUMNS}, PRIMARY KEY(tbl, id)) WITHOUT ROWID"]


def keyed_by_number():
    return [f"CREATE TABLE outbox(key INTEGER PRIMARY KEY, {ROW_COLUMNS}, UNIQUE(tbl, id))"]


def by_time():
    return ["CREATE INDEX pending ON outbox(pending) WHERE pending IS NOT NULL"]


def by_table():
    return ["CREATE INDEX pending ON outbox(tbl) WHERE pending IS NOT NULL"]


def log():
    """A log of changes, which is folded into one outbox row per app row before the commit."""
    base = "json_object(" + ", ".join(f"'{name}', {quoted(name)}" for name in COLUMNS) + ")"
    return keyed_by_id() + by_time() + [
        "CREATE TABLE log(number INTEGER PRIMARY KEY, tbl INTEGER, id BLOB, mask INTEGER, stamp INTEGER, base TEXT)",
        f"""CREATE TRIGGER inserted AFTER INSERT ON todo BEGIN
            INSERT INTO log(tbl, id, mask, stamp) VALUES (1, NEW.id, {ALL}, {STAMP}); END""",
        f"""CREATE TRIGGER updated AFTER UPDATE ON todo WHEN {ANY_CHANGED} BEGIN
            INSERT INTO log(tbl, id, mask, stamp, base) VALUES (1, NEW.id, {MASK}, {STAMP}, {base}); END""",
    ]


FOLD = [
    """INSERT INTO outbox(tbl, id, pending, dirty, base) SELECT tbl, id, stamp, mask, base FROM log WHERE 1 ORDER BY tbl, id
        ON CONFLICT(tbl, id) DO UPDATE SET dirty = dirty | excluded.dirty, pending = coalesce(pending, excluded.pending),
        stamp = excluded.pending, base = coalesce(base, excluded.base)""",
    "DELETE FROM log",
]

NONE = "no outbox"
FORMS = {
    NONE: [],
    "a row by id": keyed_by_id() + by_time() + row_triggers(BASE_INSERTED),
    "a row by number": keyed_by_number() + by_time() + row_triggers(BASE_INSERTED),
    "a row by number, base as text": keyed_by_number() + by_time() + row_triggers(BASE_CONCATENATED),
    "a row by number, no base": keyed_by_number() + by_time() + row_triggers("NULL"),
    "a row by number, pending by table": keyed_by_number() + by_table() + row_triggers(BASE_INSERTED),
    "a row by number, pending not indexed": keyed_by_number() + row_triggers(BASE_INSERTED),
    "a log, folded": log(),
}


class Round:
    """A form in a new file."""

    def __init__(self, form, folder, rows):
        self.form = form
        self.path = pathlib.Path(folder, f"{uuid.uuid4()}.db")
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.ids = [uuid.uuid4().bytes for _ in range(rows)]
        for statement in [
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = NORMAL",
            """CREATE TABLE todo(id BLOB PRIMARY KEY NOT NULL, content TEXT NOT NULL, date TEXT NOT NULL,
                priority INTEGER NOT NULL DEFAULT 0, done BOOLEAN NOT NULL DEFAULT 0, alarm DATETIME)""",
            *FORMS[form],
        ]:
            self.db.execute(statement)

    def measure(self):
        """Returns the seconds for the inserts, the first and the second updates, and the file size after the inserts."""
        text = ("Buy the tickets for the concert on Friday", "2026-11-21")
        inserted = self.timed(
            "INSERT INTO todo VALUES (?, ?, ?, 0, 0, NULL)", [(row, *text) for row in self.ids])
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = self.path.stat().st_size
        if self.form != NONE:
            self.db.execute(f"UPDATE outbox SET pending = NULL, dirty = 0, acked = 1, seq = 5, clock = {STAMP}")
        first = self.timed("UPDATE todo SET done = ? WHERE id = ?", [(1, row) for row in self.ids])
        second = self.timed("UPDATE todo SET priority = ? WHERE id = ?", [(3, row) for row in self.ids])
        self.db.close()
        self.path.unlink()
        return inserted, first, second, size

    def timed(self, statement, values):
        start = time.process_time()
        self.db.execute("BEGIN")
        self.db.executemany(statement, values)
        if "log" in self.form:
            for fold in FOLD:
                self.db.execute(fold)
        self.db.execute("COMMIT")
        return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000, help="rows per transaction (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds, each over all forms (default: %(default)s)")
    options = parser.parse_args()

    results = {form: [] for form in FORMS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for form in FORMS:
                results[form].append(Round(form, folder, options.rows).measure())

    print(f"SQLite {sqlite3.sqlite_version}, {options.rows} rows, {options.rounds} rounds; times and sizes relative to \"{NONE}\"")
    print(f"{'form':38}{'insert':>8}{'update':>8}{'again':>8}{'file':>8}")
    for form, rounds in results.items():
        ratios = [
            statistics.median(mine[k] / none[k] for mine, none in zip(rounds, results[NONE])) for k in range(4)
        ]
        print(f"{form:38}" + "".join(f"{ratio:8.2f}" for ratio in ratios))


if __name__ == "__main__":
    main()
