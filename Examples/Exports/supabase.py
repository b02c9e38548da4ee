#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Turns a table of Supabase, or of any PostgreSQL database, into rows for `optimist import`.

    psql "$URL" -c "\\copy todos to stdout csv header" | supabase.py --owner user_id --dates due,created_at > todo.jsonl

Use `--booleans`, `--numbers` and `--json` for columns of these types; all others are texts.
"""

import argparse
import csv
import json
import sys

from rows import line, utc

READ = {
    "dates": utc, "booleans": lambda text: text in ("t", "true"), "numbers": json.loads, "json": json.loads}


def rows(file, owner, kinds):
    """`kinds` has the names of the columns of each kind in READ."""
    readers = {column: READ[kind] for kind, columns in kinds.items() for column in columns}
    for values in csv.DictReader(file):
        account = values.pop(owner)
        # An empty field without quotes is null. Python's reader cannot tell it from an empty text.
        yield {**{name: readers.get(name, str)(text) for name, text in values.items() if text != ""}, "account": account}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--owner", default="user_id", help="the column with the user's id")
    for option in READ:
        parser.add_argument(f"--{option}", default="", help="names, separated by commas")
    options = parser.parse_args()
    named = {kind: filter(None, getattr(options, kind).split(",")) for kind in READ}
    for found in rows(sys.stdin, options.owner, named):
        print(line(found))
