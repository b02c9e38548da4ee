# This source file is part of the Optimist open source project, under the MIT licence.
"""`optimist import` and `optimist views`, on a directory and on PostgreSQL, also while servers run.

It starts servers with $OPTIMIST.
"""

import contextlib
import datetime
import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from claims import Claims, Skip  # noqa: E402
from form import form  # noqa: E402
from import_sites import SCHEMA, instant, places, values  # noqa: E402
from program import OPTIMIST, PATIENCE, run  # noqa: E402
from writers import USING, ask, enter  # noqa: E402

# The namespace of derived ids, as in Documentation/MovingHere.md.
NAMES = uuid.UUID("ba890392-d3a1-4b98-89b2-825c7ca53db8")
ROWS = form(30_000, 200_000, 1_000_000)
PEOPLE = 40
claims = Claims()


def shown_time(rows, row):
    return next(instant(found["changed_at"]).timestamp() for found in rows if found["id"] == row)


@claims
def merges(sites):
    """J1 J2 rows of JSON Lines and of CSV get ids and types by the schema, and do not change again."""
    for site in sites:
        email, account = site.person("merges")
        lists = site.file("lists.jsonl", [{"account": email, "id": "groceries", "title": "Groceries"}])
        assert "1 rows written" in site.imports(lists, "list")
        items = site.file("items.csv", [
            ["account", "id", "name", "list", "done", "price", "count", "big", "due", "tags", "likes"],
            [email, "7", "Milk, \"fresh\"\nand cold", "groceries", "true", "1.5", "2", "9007199254740993",
             "2026-11-28T10:00:00Z", "[1,\"a\"]", "5"],
            [email.upper(), "8", "", "", "0", "", "", "", "", "", ""]])
        assert "2 rows written" in site.imports(items, "item")
        group = str(uuid.uuid5(NAMES, "list/groceries"))
        first, second = (str(uuid.uuid5(NAMES, f"item/{name}")) for name in ("7", "8"))
        rows = site.rows("item", account)
        assert set(rows) == {first, second} and set(site.rows("list", account)) == {group}, rows
        assert values(rows[first]) == {
            "id": first, "name": "Milk, \"fresh\"\nand cold", "list": group, "done": True, "price": 1.5, "count": 2,
            "big": "9007199254740993", "due": "2026-11-28T10:00:00Z", "tags": [1, "a"], "likes": 5}, rows[first]
        assert values(rows[second]) == {"id": second, "done": False, "likes": 0}, rows[second]
        before = site.jmap("item/get", account, ids=None)["state"]
        os.utime(items)
        assert "0 rows written, 2 unchanged" in site.imports(items, "item")
        assert site.jmap("item/get", account, ids=None)["state"] == before


@claims
def devices(sites):
    """J2 J3 a second import keeps later edits and deletions, and adds nothing to counters."""
    for site in sites:
        email, account = site.person("devices")
        ids = [str(uuid.uuid4()) for _ in range(3)]
        file = site.file("edited.jsonl", [
            {"account": email, "id": row, "name": "old", "likes": 1} for row in ids])
        exported = "2026-01-01T00:00:00Z"
        assert "3 rows written" in site.imports(file, "item", "--as-of", exported)
        site.jmap("item/set", account, update={ids[0]: {"name": "new", "likes": {"@add": 2}}}, destroy=[ids[1]])
        said = site.imports(file, "item", "--as-of", exported)
        assert "0 rows written, 2 unchanged, 1 left as deleted" in said, said
        rows = site.rows("item", account)
        assert set(rows) == {ids[0], ids[2]} and (rows[ids[0]]["name"], rows[ids[0]]["likes"]) == ("new", 3), rows
        newer = site.file("newer.jsonl", [{"account": email, "id": ids[0], "name": "newest"}])
        later = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=400)).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert "1 rows written" in site.imports(newer, "item", "--as-of", later)
        site.jmap("item/set", account, update={ids[0]: {"name": "a device's"}})
        assert site.rows("item", account)[ids[0]]["name"] == "a device's"


@claims
def copies(sites):
    """J2 A row that a device copied from its old data and the imported row become one row."""
    for site in sites:
        person = enter(site.port, "sign-up", "copies@example.org", "phone")
        site.people["copies@example.org"] = person["account_id"]
        copied, edited = (str(uuid.uuid5(NAMES, f"item/{name}")) for name in ("copied", "edited"))
        # Rows of a migration have the earliest clock.
        now = f"{int(time.time() * 1000) << 16:016x}-phone"
        status, answer = ask(site.port, "POST", "/jmap", {"using": USING, "device": "phone", "push": 1, "methodCalls": [
            ["item/set", {"accountId": person["account_id"], "create": {
                copied: {"name": "old", "count": 1, "@hlc": f"{1:016x}-phone"},
                edited: {"name": "new", "@hlc": {"*": f"{1:016x}-phone", "name": now}}}}, "0"]]},
            person["access_token"], patience=PATIENCE)
        assert status == 200 and answer["methodResponses"][0][1]["created"], answer
        file = site.file("copies.jsonl", [
            {"account": "copies@example.org", "id": name, "name": "exported", "price": 2}
            for name in ("copied", "edited")])
        assert "2 rows written" in site.imports(file, "item", "--as-of", "2026-01-01T00:00:00Z")
        found = site.rows("item", person["account_id"]).values()
        rows = {row["id"]: (row["name"], row["count"], row["price"]) for row in found}
        assert rows == {copied: ("exported", 1, 2), edited: ("new", None, 2)}, rows


@claims
def refused(sites):
    """J4 a dry run lists each refused row with its line and stores nothing, and the import stores the others."""
    for site in sites:
        email, account = site.person("refused")
        lines = [
            {"account": email, "title": "good"}, "not JSON", "", {"account": email}, {"title": "no account"},
            {"account": "eve@example.org", "title": "stranger"}, {"account": email, "title": 7},
            {"account": email, "title": "unknown", "colour": "red"}, {"account": email, "title": "also good"}]
        file = site.file("bad.jsonl", lines)
        for options, written in [(["--dry-run"], 0), ([], 2)]:
            said = site.imports(file, "list", *options, status=1).splitlines()
            found = [line.split(":")[0:2] for line in said[:-1]]
            assert found == [
                ["line 2", " notJSON"], ["line 4", " invalidProperties"], ["line 5", " accountNotFound"],
                ["line 6", " accountNotFound"], ["line 7", " invalidProperties"], ["line 8", " invalidProperties"]], said
            assert said[-1].startswith("2 rows") and said[-1].endswith("6 refused."), said
            assert len(site.rows("list", account)) == written
        for name, rows, problem in [
                ("b.csv", [["account", "account"]], "line 1: Each column"), ("c.txt", [], "must end in .jsonl or .csv")]:
            status, _, err = run("import", site.file(name, rows), "--type", "list", "--account-from", "email", *site.place)
            assert status == 1 and problem in err, err
        status, _, err = run("import", file, "--type", "lists", "--account-from", "email", *site.place)
        assert status == 1 and "item, list" in err, err


@claims
def accounts(sites):
    """J1 K5 an import finds accounts by their ids and by their identities, and so do programs."""
    for site in sites:
        email, account = site.person("accounts")
        site.link("https://id.example", "ann", account)
        file = site.file("ids.jsonl", [{"owner": account, "title": "by id"}, {"owner": "a0", "title": "nobody's"}])
        status, out, _ = run(
            "import", file, "--type", "list", "--account-from", "column", "--account-column", "owner", *site.place)
        assert status == 1 and "line 2: accountNotFound" in out, out
        assert [row["title"] for row in site.rows("list", account).values()] == ["by id"]
        file = site.file("subjects.jsonl", [{"owner": "ann", "title": "by identity"}, {"owner": "eve", "title": "none"}])
        status, out, _ = run(
            "import", file, "--type", "list", "--account-from", "identity", "--issuer", "https://id.example",
            "--account-column", "owner", *site.place)
        assert status == 1 and "line 2: accountNotFound" in out, out
        assert sorted(row["title"] for row in site.rows("list", account).values()) == ["by id", "by identity"]
        path = f"/service/accounts?issuer={quote('https://id.example', safe='')}"
        found = ask(site.port, "GET", f"{path}&subject=ann", token=site.key)[1]["accounts"]
        assert [(each["id"], each["email"]) for each in found] == [(account, email)], found
        assert ask(site.port, "GET", f"{path}&subject=eve", token=site.key)[1]["accounts"] == []
        assert ask(site.port, "GET", path, token=site.key)[0] == 400


@claims
def reports(sites):
    """J5 the views show the living rows of each type as the API does, and nothing else."""
    for site in sites:
        email, account = site.person("reports")
        odd = str(uuid.uuid4())
        site.imports(site.file("rows.jsonl", [
            {"account": email, "id": odd, "name": "NUL \0 and \\u0000 and ' and é", "done": False, "price": -0.25,
             "count": -(1 << 53), "big": str(-(1 << 63)), "due": "1969-12-31T23:59:59.999Z", "photo": "-_8",
             "tags": {"a": [None, 1.5]}, "likes": 3, "id_": "x"},
            {"account": email, "id": str(uuid.uuid4()), "name": "gone"},
            *({"account": email, "id": str(uuid.uuid4()), "name": f"row {number}", "tags": number}
              for number in range(20))]), "item")
        site.jmap("item/set", account, update={odd: {"done": True}}, destroy=[
            row for row, found in site.rows("item", account).items() if found["name"] == "gone"])
        tables = site.tables()
        assert set(tables) == {"list", "item"}, set(tables)
        for kind, columns in SCHEMA["types"].items():
            shown = {(row["account_id"], row["id"]): row for row in tables[kind]}
            served = {(each, key): row for _, each in site.people_all() for key, row in site.rows(kind, each).items()}
            assert len(shown) == len(tables[kind]) and set(shown) == set(served), (kind, len(shown), len(served))
            for key, row in served.items():
                assert set(shown[key]) == {"account_id", "id", "changed_at", *columns}, shown[key]
                for name, column in columns.items():
                    assert site.same(row[name], shown[key][name], column["type"]), (name, row[name], shown[key][name])
                assert abs(time.time() - instant(shown[key]["changed_at"]).timestamp()) < 3 * 365 * 86_400, shown[key]
        now = shown_time(tables["item"], odd)
        assert abs(time.time() - now) < 600, "the time of the last write"


@claims
def strangers(sites):
    """J5 a role that may read the views reads no table, and a new version of the schema needs new views."""
    site = sites[-1]
    if not site.cluster:
        raise Skip("PostgreSQL is not installed")
    site.make_views()
    for table in ("optimist_rows", "optimist_accounts", "optimist_settings"):
        denied = site.sql(f"SELECT count(*) FROM {table}", role="reader", fails=True)
        assert "permission denied" in denied, denied
    for change in ("DELETE FROM optimist_views.list", "UPDATE optimist_views.list SET title = 'x'"):
        assert site.sql(change, role="reader", fails=True)
    email, _ = site.person("strangers")
    site.imports(site.file("renamed.jsonl", [{"account": email, "title": "kept"}]), "list")
    site.server.kill()
    changed = json.loads(json.dumps(SCHEMA))
    changed["version"] = 2
    changed["types"]["list"] = {"heading": {"type": "string", "required": True, "was": [{"name": "title", "until": 1}]}}
    site.schema.write_text(json.dumps(changed))
    site.start()
    site.command("views")
    assert site.sql("SELECT count(*) FROM optimist_views.list WHERE heading = 'kept'", role="reader").strip() == "1"
    site.sql("CREATE VIEW mine AS SELECT heading FROM optimist_views.list")
    status, _, err = run("views", *site.place)
    assert status == 1 and "Other views depend on optimist_views.list" in err, err
    site.sql("CREATE SCHEMA other")
    status, _, err = run("views", "--into", "other", *site.place)
    assert status == 1 and "did not make" in err, err


@claims
def retyped(sites):
    """J5 A value of a column's former type is null in the views."""
    site = with_views(sites)
    email, account = site.person("retyped")
    texts = ["2026-02-28T10:00:00Z", "2026-draft", "2026-02-31T10:00:00Z", "0000-01-01T00:00:00Z", "2026-02-28", ""]
    numbers = ["12", "9999999999999999999", "-9223372036854775809", "9223372036854775807", "1.5", "x"]
    site.imports(site.file("retyped.jsonl", [
        {"account": email, "name": str(place), "code": text, "id_": number}
        for place, (text, number) in enumerate(zip(texts, numbers))]), "item")
    site.server.kill()
    changed = json.loads(site.schema.read_text())
    changed["version"] += 1
    changed["types"]["item"] |= {"code": {"type": "date"}, "id_": {"type": "int64"}}
    site.schema.write_text(json.dumps(changed))
    site.start("--accept", "retype:item.code", "--accept", "retype:item.id_")
    site.command("views")
    shown = site.sql(
        "SELECT extract(epoch FROM code), id_ FROM optimist_views.item"
        f" WHERE account_id = '{account}' ORDER BY name", role="reader")
    assert shown.splitlines() == [
        "1772272800.000000|12", "|", "|", "|9223372036854775807", "|", "|"], shown


def with_views(sites):
    """The site on PostgreSQL, with new views."""
    if not sites[-1].cluster:
        raise Skip("PostgreSQL is not installed")
    # Another claim leaves this view, which depends on others.
    sites[-1].sql("DROP VIEW IF EXISTS mine")
    sites[-1].make_views()
    return sites[-1]


@claims
def barrier(sites):
    """J5 a cheap function of a reader sees only the view's rows, not deleted rows or other types."""
    site = with_views(sites)
    email, account = site.person("barrier")
    shown, deleted, other = (str(uuid.uuid4()) for _ in range(3))
    site.imports(site.file("shown.jsonl", [
        {"account": email, "id": shown, "name": "a shown row"},
        {"account": email, "id": deleted, "name": "a deleted row"}]), "item")
    site.jmap("item/set", account, destroy=[deleted])
    # A row of another type, and values that remain in the table for any other reason.
    site.sql("INSERT INTO optimist_rows (account_id, type, id, generation, seq, ordinal, born_seq, content) VALUES "
             f"('{account}', 'secret', '{other}', 1, 900, 0, 900, '{{\"name\": \"a hidden value\"}}')")
    site.sql(f"UPDATE optimist_rows SET content = '{{\"name\": \"a hidden value\"}}' WHERE id = '{deleted}'")

    def leaked():
        """The names, ids and accounts of items that a function of the reader sees."""
        return site.sql(
            "CREATE FUNCTION pg_temp.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS "
            "$$ BEGIN RAISE NOTICE 'seen %', $1; RETURN true; END $$; "
            + "; ".join(f"SELECT count(*) FROM optimist_views.item WHERE pg_temp.leak({column}) {more}"
                        for column in ("name", "id", "account_id") for more in ("", "AND NOT done", "ORDER BY 1")),
            role="reader")

    seen = leaked()
    assert "a shown row" in seen and shown in seen and account in seen, seen
    for text in ("a hidden value", "a deleted row", deleted, other):
        assert text not in seen, text
    # The function would see them in a view without the barrier.
    site.sql("ALTER VIEW optimist_views.item SET (security_barrier = false)")
    assert deleted in leaked(), "the function is never called before the view's own conditions"
    site.make_views()
    assert deleted not in leaked()


@claims
def planned(sites):
    """J5 a condition on the account reads a view by the primary key, and never the rows of all accounts."""
    site = with_views(sites)
    site.sql("INSERT INTO optimist_rows (account_id, type, id, generation, seq, ordinal, born_seq, content) "
             "SELECT 'planned' || account, 'item', 'r' || row, 1, row, 0, row, '{\"name\": \"x\"}' "
             "FROM generate_series(1, 200) account, generate_series(1, 100) row; ANALYZE optimist_rows")

    def scans(condition):
        """The scans of the table in the plan, each with its index condition or None."""
        query = f"SELECT name FROM optimist_views.item WHERE {condition}"
        nodes, found = [json.loads(site.sql(f"EXPLAIN (FORMAT JSON) {query}", role="reader"))[0]["Plan"]], []
        while nodes:
            node = nodes.pop()
            nodes += node.get("Plans", [])
            if node["Node Type"] in ("Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Index Scan"):
                found.append((node["Node Type"], node.get("Index Cond")))
        return found

    account = "account_id = 'planned7'"
    for condition in [account, "account_id IN ('planned7', 'planned8')", f"{account} AND id = 'r7'",
                      f"{account} AND name = 'x'", f"{account} AND changed_at > now()"]:
        found = scans(condition)
        assert found and all(index and "account_id = " in index for _, index in found), (condition, found)
    # The rows of the type, whose accounts are not in the condition.
    assert not any("account_id" in (index or "") for _, index in scans("name = 'x'")), scans("name = 'x'")
    assert site.sql(f"SELECT count(*) FROM optimist_views.item WHERE {account}", role="reader").strip() == "100"
    site.sql("DELETE FROM optimist_rows WHERE account_id LIKE 'planned%'")


@claims
def interrupted(sites):
    """J3 an import that is killed ten times, and then ends, has stored each row once."""
    for site in sites:
        people = [site.person(f"crowd{number}") for number in range(PEOPLE)]
        rows = site.folder / "many.jsonl"
        with rows.open("w") as file:
            for number in range(ROWS):
                file.write(json.dumps({
                    "account": people[number % PEOPLE][0], "id": str(number), "name": f"row {number}",
                    "likes": 1}) + "\n")
        if "--data" in site.place:
            site.stop()
        arguments = [OPTIMIST, "import", rows, "--type", "item", "--account-from", "email", *site.place]
        begun = time.monotonic()
        random.seed(43)
        pause = form(0.5, 1, 2)
        kills, stored = 0, site.count()
        before = stored
        while kills < 10 or stored == before:
            with subprocess.Popen(list(map(str, arguments)), stdout=subprocess.DEVNULL) as process:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(pause * (0.5 + random.random()))
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    kills += 1
                    # On a slow machine, the first rows are stored late.
                    pause *= 1.1 if site.count() > stored else 2
                else:
                    pause /= 2
            stored = site.count()
        status, out, err = run(*arguments[1:], seconds=3600)
        assert status == 0 and "0 refused" in out, (out, err)
        assert " 0 unchanged" not in out, "every kill was before the first rows were stored"
        print(f"      {ROWS} rows, ten kills: {time.monotonic() - begun:.0f} s; {out.strip()}", flush=True)
        if "--data" in site.place:
            site.start()
        for number, (_, account) in enumerate(people):
            found = []
            for start in range(number, ROWS, PEOPLE * 500):
                ids = [str(uuid.uuid5(NAMES, f"item/{row}")) for row in range(start, min(ROWS, start + PEOPLE * 500), PEOPLE)]
                found += site.jmap("item/get", account, ids=ids)["list"]
            assert len(found) == len(range(number, ROWS, PEOPLE)), (len(found), account)
            assert {row["name"] for row in found} == {f"row {row}" for row in range(number, ROWS, PEOPLE)}
            assert all(row["likes"] == 1 for row in found), "a count was doubled"


if __name__ == "__main__":
    with places() as found:
        claims.run(found)
