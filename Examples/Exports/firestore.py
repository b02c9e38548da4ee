#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Turns documents of Firestore into rows for `optimist import`.

    firestore.py PAGE.json… > todo.jsonl

A page is an answer of Firestore's REST API, to a list or a query of a collection. The account of a row is the id of the
document at `users/…`, which is the user's id of Firebase.
"""

import base64
import json
import sys

from rows import data, line, utc


def plain(value):
    """The value of a field."""
    kind, content = next(iter(value.items()))
    if kind == "nullValue":
        return None
    if kind == "integerValue":
        return int(content)
    if kind == "timestampValue":
        return utc(content)
    if kind == "bytesValue":
        return data(base64.b64decode(content))
    if kind == "referenceValue":
        return content.rsplit("/", 1)[1]
    if kind == "arrayValue":
        return [plain(each) for each in content.get("values", [])]
    if kind == "mapValue":
        return {name: plain(each) for name, each in content.get("fields", {}).items()}
    return content


def row(document):
    path = document["name"].split("/documents/", 1)[1].split("/")
    fields = {name: plain(value) for name, value in document.get("fields", {}).items()}
    return {**fields, "account": path[path.index("users") + 1], "id": path[-1]}


def documents(page):
    if isinstance(page, list):  # The answer to a query.
        return [each["document"] for each in page if "document" in each]
    return page.get("documents", [])


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            for found in documents(json.load(file)):
                print(line(row(found)))
