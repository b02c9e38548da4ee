#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Turns documents of Firestore into rows for `optimist import`.

    TOKEN=$(gcloud auth print-access-token) firestore.py --project PROJECT --collection todos > todo.jsonl
    firestore.py PAGE.json… > todo.jsonl

The first form reads the documents `users/…/todos/…` of all users from Firestore's REST API. TOKEN may read the
database, and FIRESTORE_EMULATOR_HOST names an emulator. The second form reads pages that were saved before: answers to
a list or a query of a collection. Give it all pages of a list, in order.

The account of a row is the id of the document at `users/…`, which is the user's id of Firebase.
"""

import argparse
import base64
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

from rows import data, line, utc

PAGE_SIZE = 300


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


def path(document):
    return document["name"].split("/documents/", 1)[1].split("/")


def row(document):
    fields = {name: plain(value) for name, value in document.get("fields", {}).items()}
    place = path(document)
    return {**fields, "account": place[place.index("users") + 1], "id": place[-1]}


def documents(page):
    if isinstance(page, list):  # The answer to a query.
        return [each["document"] for each in page if "document" in each]
    return page.get("documents", [])


def collection(page):
    """The path of a page's collection, or None if the page is empty."""
    return next(("/".join(path(document)[:-1]) for document in documents(page)), None)


def is_next(page, following):
    """Whether a page may follow another one. The last page may be empty."""
    return None in (collection(page), collection(following)) or collection(page) == collection(following)


def fetched(project, place, **query):
    """The documents of all pages of a collection."""
    emulator = os.environ.get("FIRESTORE_EMULATOR_HOST")
    origin = f"http://{emulator}" if emulator else "https://firestore.googleapis.com"
    address = f"{origin}/v1/projects/{project}/databases/(default)/documents/{urllib.parse.quote(place)}"
    token = None
    while token != "":
        asked = {**query, "pageSize": PAGE_SIZE, **({"pageToken": token} if token else {})}
        request = urllib.request.Request(
            f"{address}?{urllib.parse.urlencode(asked)}", headers={"Authorization": f"Bearer {os.environ['TOKEN']}"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                page = json.load(answer)
        except urllib.error.HTTPError as error:
            sys.exit(f"Firestore refused {place} ({error.code}): {error.read().decode(errors='replace')}")
        yield from documents(page)
        token = page.get("nextPageToken", "")


def of_all_users(project, name):
    # `showMissing` also lists users whose own document does not exist, although they have a collection.
    for user in fetched(project, "users", showMissing="true", **{"mask.fieldPaths": "__name__"}):
        yield from fetched(project, f"users/{path(user)[-1]}/{name}")


def saved(names):
    """The documents of saved pages. Ends the program if a page is missing."""
    pages = []
    for name in names:
        with open(name, encoding="utf-8") as file:
            pages.append(json.load(file))
    for name, page, following in zip(names, pages, [*pages[1:], None]):
        token = page.get("nextPageToken") if isinstance(page, dict) else None
        if token and (following is None or not is_next(page, following)):
            sys.exit(
                f"{name} is not the last page of its collection, and the next page does not follow it. No row was "
                f"written. Request the next page with pageToken={token}, and name it after {name}, or let --project and "
                "--collection read all pages.")
    return [document for page in pages for document in documents(page)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--project")
    parser.add_argument("--collection", help="the name of the collection below users/…")
    options = parser.parse_args()
    if bool(options.pages) == bool(options.project and options.collection):
        parser.error("Give either pages, or --project and --collection.")
    if options.project and "TOKEN" not in os.environ:
        parser.error("TOKEN is not set: it is what `gcloud auth print-access-token` prints.")
    for found in saved(options.pages) if options.pages else of_all_users(options.project, options.collection):
        print(line(row(found)))
