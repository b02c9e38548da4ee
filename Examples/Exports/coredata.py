#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Turns an entity of a Core Data store into rows for `optimist import`.

    coredata.py STORE.sqlite --entity Todo --account ann@example.org --columns title,done,due,list \\
        [--dates due] [--booleans done] [--links list] [--uuids code] > todo.jsonl

Core Data keeps the attribute `dueDate` in the column ZDUEDATE, dates as seconds since 2001, and UUIDs as 16 bytes.
Binary columns that `--uuids` does not name become data. Core Data numbers rows in each file, so an id is the account
with the number.
"""

import argparse
import sqlite3
import uuid
from datetime import datetime, timedelta, timezone

from rows import data, line, utc

ORIGIN = datetime(2001, 1, 1, tzinfo=timezone.utc)


def rows(store, entity, account, columns, dates=(), booleans=(), links=(), uuids=()):
    names = ", ".join(f'"Z{column.upper()}"' for column in columns)
    for key, *values in store.execute(f'SELECT Z_PK, {names} FROM "Z{entity.upper()}" ORDER BY Z_PK'):
        row = {"account": account, "id": f"{account}/{key}"}
        for column, value in zip(columns, values):
            if value is None:
                continue
            if column in dates:
                value = utc(ORIGIN + timedelta(seconds=value))
            elif column in booleans:
                value = bool(value)
            elif column in links:
                value = f"{account}/{value}"
            elif column in uuids:
                value = str(uuid.UUID(bytes=value))
            elif isinstance(value, bytes):
                value = data(value)
            row[column] = value
        yield row


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    for option in ("entity", "account", "columns"):
        parser.add_argument(f"--{option}", required=True)
    for option in ("dates", "booleans", "links", "uuids"):
        parser.add_argument(f"--{option}", default="", help="names, separated by commas")
    options = parser.parse_args()
    split = {name: getattr(options, name).split(",") for name in ("columns", "dates", "booleans", "links", "uuids")}
    with sqlite3.connect(f"file:{options.file}?mode=ro", uri=True) as opened:
        for each in rows(opened, options.entity, options.account, **split):
            print(line(each))
