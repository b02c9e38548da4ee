# This source file is part of the Optimist open source project, under the MIT licence.
"""Servers on a directory and on PostgreSQL, into which tests import rows. It starts them with $OPTIMIST."""

import contextlib
import csv
import datetime
import json
import sqlite3
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

sys.path[:0] = [str(Path(__file__).resolve().parents[3] / "Scripts")]
from program import PATIENCE, Program, run  # noqa: E402
from testing.postgres import Postgres, programs  # noqa: E402
from writers import ask  # noqa: E402

CORE = "urn:ietf:params:jmap:core"
SCHEMA = {"id": "shop", "version": 1, "types": {
    "list": {"title": {"type": "string", "required": True}},
    "item": {
        "name": {"type": "string", "maxBytes": 200}, "list": {"type": "ref", "to": "list"},
        "done": {"type": "bool"}, "price": {"type": "number"}, "count": {"type": "int"}, "big": {"type": "int64"},
        "due": {"type": "date"}, "photo": {"type": "data"}, "tags": {"type": "json"}, "likes": {"type": "counter"},
        "code": {"type": "string"}, "id_": {"type": "string"}}}}


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def values(row):
    """The columns of a row that have values, and its id."""
    return {name: value for name, value in row.items() if not name.startswith("@") and value is not None}


class Site:
    """A server and its data. `place` is the option that names the data."""

    def __init__(self, folder, *place):
        self.folder, self.place, self.server = Path(folder), place, None
        self.schema = self.folder / "schema.json"
        self.schema.write_text(json.dumps(SCHEMA))
        self.start()
        self.key = self.command("key", "create", "imports", "--scope", "write").strip()
        self.people = {}
        self.cluster = None

    def start(self, *options):
        self.server = Program("serve", "--port", "0", "--schema", str(self.schema), *self.place, *options)
        self.port = urlsplit(self.server.find(r"serves (http://[^ ]+)")).port

    def stop(self):
        self.server.terminate()

    def command(self, *arguments):
        status, out, err = run(*arguments, *self.place)
        assert status == 0, (arguments, out, err)
        return out

    def person(self, name):
        """The account of a person, by an address."""
        email = f"{name}@example.org"
        if email not in self.people:
            status, made = ask(self.port, "POST", "/service/accounts", {"email": email}, self.key, patience=PATIENCE)
            assert status == 201, made
            self.people[email] = made["id"]
        return email, self.people[email]

    def jmap(self, method, account, **arguments):
        status, answer = ask(self.port, "POST", "/jmap", {
            "using": [CORE], "methodCalls": [[method, {"accountId": account, **arguments}, "0"]]}, self.key,
            patience=PATIENCE)
        assert status == 200, answer
        return answer["methodResponses"][0][1]

    def rows(self, kind, account):
        return {row["id"]: row for row in self.jmap(f"{kind}/get", account, ids=None)["list"]}

    def people_all(self):
        return list(self.people.items())

    def sql(self, text, role="optimist", fails=False):
        """What psql prints, or its error."""
        try:
            out = self.cluster.run("psql", self.cluster.url.replace("user=optimist", f"user={role}"), "-Atqc", text)
        except OSError as error:
            assert fails, error
            return str(error)
        assert not fails, out
        return out

    def count(self):
        """The rows in the database. A data directory must not be served."""
        statement = "SELECT count(*) FROM optimist_rows"
        if self.cluster:
            return int(self.sql(statement))
        with contextlib.closing(sqlite3.connect(self.place[1] + "/optimist.sqlite", timeout=PATIENCE)) as opened:
            return opened.execute(statement).fetchone()[0]

    def link(self, issuer, subject, account):
        """Gives an identity to an account, as a sign-in with a provider does."""
        statement = "INSERT INTO optimist_identities (issuer, subject, account_id, linked_at) VALUES "
        text = f"{statement}('{issuer}', '{subject}', '{account}', 0)"
        if self.cluster:
            self.sql(text)
        else:
            with contextlib.closing(sqlite3.connect(self.place[1] + "/optimist.sqlite", timeout=PATIENCE)) as opened, opened:
                opened.execute(text)

    def make_views(self):
        """Makes the views for a role that may log in."""
        if self.sql("SELECT 1 FROM pg_roles WHERE rolname = 'reader'") == "":
            self.sql("CREATE ROLE reader LOGIN")
        self.command("views", "--reader", "reader")

    def tables(self):
        """The rows of all views, by type."""
        if self.cluster:
            self.make_views()
            views = self.sql("SELECT viewname FROM pg_views WHERE schemaname = 'optimist_views'").split()
            return {view: json.loads(self.sql(
                f"SELECT coalesce(json_agg(v), '[]') FROM optimist_views.\"{view}\" v", role="reader")) for view in views}
        file = self.folder / "reports.sqlite"
        self.command("views", "--to", str(file))
        assert file.stat().st_mode & 0o077 == 0 and not list(self.folder.glob(".*")), "it is private and complete"
        with contextlib.closing(sqlite3.connect(file)) as opened:
            opened.row_factory = sqlite3.Row
            names = [row[0] for row in opened.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            return {name: [dict(row) for row in opened.execute(f'SELECT * FROM "{name}"')] for name in names}

    def same(self, served, shown, kind):
        """Whether a view shows a value as the API does."""
        if served is None or shown is None:
            return served is None and shown is None
        if kind == "int64":
            return int(served) == shown
        if kind == "date":
            return instant(served) == instant(shown)
        if kind == "bool":
            return served is bool(shown)
        if kind == "json" and not self.cluster:
            shown = json.loads(shown)
        return shown == (served.replace("\0", "\ufffd") if kind == "string" else served)

    def imports(self, file, kind, *options, status=0):
        got, out, err = run("import", file, "--type", kind, "--account-from", "email", *options, *self.place)
        assert got == status, (got, out, err)
        return out

    def file(self, name, rows):
        """A file of rows. The rows of a CSV file are lists, and the first has the names."""
        path = self.folder / name
        with path.open("w", newline="") as file:
            if name.endswith(".csv"):
                csv.writer(file).writerows(rows)
            else:
                file.writelines(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
        return str(path)


@contextlib.contextmanager
def places():
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(tempfile.TemporaryDirectory())
        sites = [Site(first, "--data", f"{first}/data")]
        stack.callback(lambda: sites[0].server.kill())
        if programs():
            second = stack.enter_context(tempfile.TemporaryDirectory())
            cluster, secret = stack.enter_context(Postgres()), Path(second, "secret")
            secret.write_text(run("secret")[1])
            sites.append(Site(second, "--database", cluster.url, "--secret", str(secret)))
            sites[1].cluster = cluster
            stack.callback(lambda: sites[1].server.kill())
        yield sites
