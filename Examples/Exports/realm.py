#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Turns objects that Realm Studio saved as JSON into rows for `optimist import`.

    realm.py EXPORT.json --class Todo --account ann@example.org [--dates due] > todo.jsonl

A Realm file belongs to one user, so the account is an option. A link to another object becomes its id. Embedded objects
and lists stay JSON.
"""

import argparse
import json
import sys

from rows import line, utc


def plain(value, key):
    if isinstance(value, dict) and key in value:
        return plain(value[key], key)
    if isinstance(value, dict) and set(value) == {"$oid"}:
        return value["$oid"]
    return value


def rows(export, name, account, key, dates):
    for found in export[name]:
        row = {column: plain(value, key) for column, value in found.items() if column != key}
        row.update({column: utc(row[column]) for column in dates if row.get(column)})
        yield {**row, "account": account, "id": str(plain(found[key], key))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--class", dest="name", required=True)
    parser.add_argument("--account", required=True)
    parser.add_argument("--key", default="_id", help="the primary key")
    parser.add_argument("--dates", default="", help="names, separated by commas")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as file:
        found = json.load(file)
    for each in rows(found, options.name, options.account, options.key, list(filter(None, options.dates.split(",")))):
        sys.stdout.write(line(each) + "\n")
