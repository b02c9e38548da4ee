# This source file is part of the Optimist open source project, under the MIT licence.
"""The scripts of Examples/Exports, whose rows are imported on a directory and on PostgreSQL.

It starts servers with $OPTIMIST.
"""

import contextlib
import http.server
import json
import os
import runpy
import sqlite3
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from claims import Claims  # noqa: E402
from import_sites import places, values  # noqa: E402
from program import run  # noqa: E402

EXPORTS = Path(__file__).resolve().parents[3] / "Examples" / "Exports"
claims = Claims()


@claims
def exports(sites):
    """J1 the scripts of the guide turn each sample into rows that the server takes."""
    milk = {"name": "Milk", "done": True, "count": 2, "price": 1.5, "due": "2026-11-28T10:00:00.123Z"}
    for site in sites:
        table = (EXPORTS / "samples" / "supabase.csv").read_text()
        if site.cluster:
            site.cluster.run("psql", site.cluster.url, "-qc", (EXPORTS / "samples" / "supabase.sql").read_text())
            table = site.cluster.run("psql", site.cluster.url, "-qc", "SET timezone = 'UTC'", "-c", "\\copy items to stdout csv header")
        store = site.folder / "coredata.sqlite"
        with contextlib.closing(sqlite3.connect(store)) as opened:
            opened.executescript((EXPORTS / "samples" / "coredata.sql").read_text())
        for name, arguments, given in [
                ("firestore", [EXPORTS / "samples" / "firestore.json"], ""),
                ("supabase", ["--dates", "due", "--booleans", "done", "--numbers", "count,price", "--json", "tags"], table),
                ("realm", [EXPORTS / "samples" / "realm.json", "--class", "items", "--account", "realm@example.org",
                           "--dates", "due"], ""),
                ("coredata", [store, "--entity", "Item", "--account", "coredata@example.org", "--columns",
                              "name,done,count,price,due,list,photo,code", "--dates", "due", "--booleans", "done",
                              "--links", "list", "--uuids", "code"], "")]:
            email, account = site.person(name)
            site.link(f"https://{name}.example", "UID", account)
            made = subprocess.run(
                [sys.executable, EXPORTS / f"{name}.py", *map(str, arguments)], input=given, capture_output=True, text=True,
                check=True).stdout
            file = site.file(f"{name}.jsonl", [])
            Path(file).write_text(made)
            # The list comes first, because items refer to it.
            lists = {"firestore": "groceries", "supabase": "groceries", "realm": "65f0c0ffee0000000000b001",
                     "coredata": "coredata@example.org/7"}
            site.imports(site.file("list.jsonl", [{"account": email, "id": lists[name], "title": "x"}]), "list")
            key = (["email"] if name in ("realm", "coredata") else ["identity", "--issuer", f"https://{name}.example"])
            status, out, err = run("import", file, "--type", "item", "--account-from", *key, *site.place)
            assert status == 0, (name, out, err)
            rows = [row for row in site.rows("item", account).values() if row["name"] == "Milk"]
            assert len(rows) == 1 and values(rows[0]).items() >= milk.items(), (name, rows)
            assert rows[0]["list"] in site.rows("list", account), (name, rows)
            photo = {"firestore": "-_8", "coredata": "-_8"}.get(name)
            assert rows[0]["photo"] == photo, (name, rows)
            if name == "coredata":
                assert rows[0]["code"] == "6f1c0e4a-8b5d-4c1f-9d3e-2a7b5c8d9e0f", rows
                [pixels] = [row["photo"] for row in site.rows("item", account).values() if row["name"] == "Pixels"]
                assert pixels == "ABEiM0RVZneImaq7zN3u_w", pixels


@claims
def times(_):
    """The exports read each form of a date that databases write, and refuse other texts."""
    utc = runpy.run_path(str(EXPORTS / "rows.py"))["utc"]
    for text, expected in {
            "2026-11-28": "2026-11-28T00:00:00.000Z", "2026-11-28 10:00:00-0330": "2026-11-28T13:30:00.000Z",
            "2026-11-28 10:00:00.5+00": "2026-11-28T10:00:00.500Z", "2026-11-28T10:00": "2026-11-28T10:00:00.000Z",
            "2026-11-28T10:00:00.123456789Z": "2026-11-28T10:00:00.123Z",
            "2026-11-28T10:00:00+05:30": "2026-11-28T04:30:00.000Z"}.items():
        assert utc(text) == expected, (text, utc(text))
    for text in ("infinity", "28.11.2026", "2026-13-01", "0044-03-15 BC", ""):
        try:
            raise AssertionError((text, utc(text)))
        except ValueError:
            pass


class Firestore(http.server.BaseHTTPRequestHandler):
    """Firestore's lists, with two documents in a page. The user `ghost` has a collection, but no document."""

    users = ["ann", "bob", "carol", "ghost"]

    def do_GET(self):
        address = urlsplit(self.path)
        query, root = parse_qs(address.query), "projects/shop/databases/(default)/documents"
        place = unquote(address.path).split("/documents/", 1)[1]
        names = [user for user in self.users if user != "ghost" or "showMissing" in query]
        if place != "users":
            names = [f"{place.split('/')[1]}{number}" for number in range(5)]
        first = int(query.get("pageToken", ["0"])[0])
        page = {"documents": [{"name": f"{root}/{place}/{name}"} for name in names[first:first + 2]]}
        if first + 2 < len(names):
            page["nextPageToken"] = str(first + 2)
        status = 200 if self.headers["authorization"] == "Bearer secret" else 401
        body = json.dumps(page if status == 200 else {}).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@claims
def pages(sites):
    """The Firestore script reads all pages of all users, and refuses saved pages if one is missing."""

    def script(*arguments, token="secret"):
        done = subprocess.run(
            [sys.executable, EXPORTS / "firestore.py", *arguments], capture_output=True, text=True,
            env={**os.environ, "FIRESTORE_EMULATOR_HOST": host, "TOKEN": token})
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Firestore) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = f"127.0.0.1:{server.server_port}"
        status, rows, err = script("--project", "shop", "--collection", "items")
        assert (status, err) == (0, "") and rows == [
            {"account": user, "id": f"{user}{number}"} for user in Firestore.users for number in range(5)], rows
        status, rows, err = script("--project", "shop", "--collection", "items", token="wrong")
        assert status == 1 and not rows and "401" in err, err
        saved = {}
        for user in ("ann", "bob"):
            for token in ("0", "2", "4"):
                request = urllib.request.Request(
                    f"http://{host}/v1/projects/shop/databases/(default)/documents/users/{user}/items?pageToken={token}",
                    headers={"Authorization": "Bearer secret"})
                with urllib.request.urlopen(request) as answer:
                    saved[user, token] = sites[0].folder / f"{user}{token}.json"
                    saved[user, token].write_bytes(answer.read())
        server.shutdown()
    every = list(saved.values())
    status, rows, err = script(*every)
    assert status == 0 and len(rows) == 10, err
    for names in (every[:1], every[:2], every[:2] + every[3:], every[:5]):
        status, rows, err = script(*names)
        assert status == 1 and not rows and "pageToken=" in err, (names, rows, err)


if __name__ == "__main__":
    with places() as found:
        claims.run(found)
