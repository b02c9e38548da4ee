# This source file is part of the Optimist open source project, under the MIT licence.
"""Programs with service keys, on a directory and on PostgreSQL: a plain JMAP client in Python, curl, and the code of
Documentation/WriteFromYourBackend.md.

It starts servers with $OPTIMIST.
"""

import contextlib
import http.client
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, urlsplit

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[3] / "Scripts")]
from claims import Claims, Skip  # noqa: E402
from guides import blocks, node, script  # noqa: E402
from program import OPTIMIST, PATIENCE, Program, eventually, run  # noqa: E402
from testing.postgres import Postgres, programs  # noqa: E402
import writers  # noqa: E402
from writers import enter  # noqa: E402

GUIDE = "WriteFromYourBackend.md"
CORE = "urn:ietf:params:jmap:core"
SCHEMA = {"id": "lists", "version": 1, "types": {
    "list": {"@space": {"column": "space"}, "title": {"type": "string", "required": True}, "space": {"type": "ref"}},
    "note": {"text": {"type": "string"}}, **json.loads(blocks(GUIDE, "json")[0])}}
NEWS = str(uuid.uuid4())
ERRORS = []
claims = Claims()


def ask(*arguments, **more):
    """As the writers' `ask`. Keeps the errors."""
    status, answer = writers.ask(*arguments, **more)
    if status >= 400 or "error" in str(answer):
        ERRORS.append(json.dumps(answer))
    return status, answer


class Site:
    """Servers with the same data. `place` is the option that names the data."""

    def __init__(self, folder, *place, count=1):
        self.place, self.keys = place, []
        schema = Path(folder, "schema.json")
        schema.write_text(json.dumps(SCHEMA))
        options = ["--port", "0", "--admin-port", "0", "--log-level", "trace", "--schema", str(schema), *place]
        self.servers = [Program("serve", *options) for _ in range(count)]
        self.ports = [urlsplit(server.find(r"serves (http://[^ ]+)")).port for server in self.servers]
        self.port = self.ports[0]
        self.ann = enter(self.port, "sign-up", "ann@example.org", "ann")
        self.bob = enter(self.port, "sign-up", "bob@example.org", "bob")
        self.command("space", "create", "--public", "--id", NEWS, "--owner", "ann@example.org", "--name", "News")

    def command(self, *arguments):
        status, out, err = run(*arguments, *self.place)
        assert status == 0, (arguments, out, err)
        return out.strip()

    @property
    def environment(self):
        """The variables that name the data for commands without options."""
        if self.place[0] == "--data":
            return {"OPTIMIST_DATA": self.place[1]}
        return {"OPTIMIST_DATABASE": self.place[1], "OPTIMIST_SECRET": Path(self.place[3]).read_text().strip()}

    def key(self, name, *options, scope="write"):
        key = self.command("key", "create", name, "--scope", scope, *options)
        assert key.startswith("optk_") and len(key) == 48, key
        self.keys.append(key)
        return key

    def jmap(self, key, method, account, port=None, **arguments):
        """The status of a plain JMAP request, and the answer to its call."""
        status, answer = ask(port or self.port, "POST", "/jmap", {
            "using": [CORE], "methodCalls": [[method, {"accountId": account, **arguments}, "0"]]}, key)
        return status, (answer["methodResponses"][0][1] if status == 200 else answer)

    def close(self):
        for server in self.servers:
            server.kill()


def called(*arguments):
    """The JSON that curl gets."""
    done = subprocess.run(["curl", "-sS", "--max-time", "60", *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@claims
def first(sites):
    """With a new key, curl finds an account and writes a row, which the person's device hears of."""
    for site in sites:
        key, heard = site.key("first"), []

        def listen():
            connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
            connection.request("GET", "/jmap/eventsource?types=*&closeafter=no&ping=1", headers={
                "Authorization": f"Bearer {site.ann['access_token']}"})
            answer = connection.getresponse()
            while line := answer.readline():
                heard.append(line.decode())
                if ".1\"" in heard[-1] and "list" in heard[-1]:
                    return

        ear = threading.Thread(target=listen, daemon=True)
        ear.start()
        eventually("the device listens", lambda: heard)
        bearer, at = ["-H", f"Authorization: Bearer {key}"], f"http://127.0.0.1:{site.port}"
        found = called(*bearer, f"{at}/service/accounts?email={quote('ann@example.org')}")["accounts"]
        assert [account["id"] for account in found] == [site.ann["account_id"]], found
        row = str(uuid.uuid4())
        body = {"using": [CORE], "methodCalls": [
            ["list/set", {"accountId": found[0]["id"], "create": {row: {"title": "Paid"}}}, "0"]]}
        made = called(*bearer, "-H", "Content-Type: application/json", "-d", json.dumps(body), f"{at}/jmap")
        assert made["methodResponses"][0][1].get("created"), made
        mine = site.jmap(site.ann["access_token"], "list/get", site.ann["account_id"], ids=None)[1]["list"]
        assert [row["title"] for row in mine] == ["Paid"], mine
        ear.join(60)
        assert not ear.is_alive(), heard


@claims
def limits(sites):
    """A key reaches only the scope, types, accounts and spaces that it names."""
    for site in sites:
        ann, bob, news = site.ann["account_id"], site.bob["account_id"], "s" + NEWS.replace("-", "")
        new = {"create": {str(uuid.uuid4()): {"title": "x"}}}
        read, note = site.key("read", scope="read"), site.key("note", "--types", "note")
        one, space = site.key("one", "--accounts", ann), site.key("space", "--spaces", NEWS)
        refused = [
            (read, "list/set", ann, new, "accountReadOnly"), (note, "list/get", ann, {"ids": None}, "forbidden"),
            (one, "list/get", bob, {"ids": None}, "accountNotFound"),
            (one, "list/get", news, {"ids": None}, "accountNotFound"),
            (space, "list/get", ann, {"ids": None}, "accountNotFound")]
        for key, method, account, arguments, error in refused:
            assert site.jmap(key, method, account, **arguments)[1].get("type") == error, (method, error)
        assert site.jmap(note, "note/set", ann, create={"x": {"text": "hello"}})[1]["created"]
        shared = {"create": {str(uuid.uuid4()): {"title": "News", "space": NEWS}}}
        assert site.jmap(space, "list/set", news, **shared)[1]["created"]
        # A person who reads a public space sees the program's rows.
        seen = site.jmap(site.bob["access_token"], "list/get", news, ids=None)[1]["list"]
        assert [row["title"] for row in seen] == ["News"], seen


@claims
def conditions(sites):
    """With ifInState, a program does not overwrite an edit that it has not read."""
    for site in sites:
        key, ann, row = site.key("conditions"), site.ann["account_id"], str(uuid.uuid4())
        state = site.jmap(key, "list/set", ann, create={row: {"title": "one"}})[1]["newState"]
        assert site.jmap(site.ann["access_token"], "list/set", ann, update={row: {"title": "two"}})[1]["updated"]
        late = site.jmap(key, "list/set", ann, ifInState=state, update={row: {"title": "three"}})[1]
        assert late["type"] == "stateMismatch", late


@claims
def misuse(sites):
    """A key signs in nowhere, is refused from a page in a browser, and a wrong one opens nothing."""
    for site in sites:
        key = site.key("misuse")
        for method, path, body in [
                ("GET", "/auth/sessions", None), ("POST", "/auth/password", {"password": "x", "newPassword": "y"}),
                ("POST", "/auth/delete-account", {"password": "x"}), ("GET", "/jmap/eventsource", None),
                ("GET", "/account/deletion", None)]:
            assert ask(site.port, method, path, body, key)[0] == 401, path
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
        connection.request("GET", "/service/accounts", headers={
            "Authorization": f"Bearer {key}", "Origin": "https://example.org"})
        answer = connection.getresponse()
        assert answer.status == 403 and "access-control" not in str(answer.headers).lower(), answer.headers
        assert ask(site.port, "GET", "/service/accounts", token=key[:-2] + "xx")[0] == 401
        assert ask(site.port, "GET", "/service/accounts", token=site.ann["access_token"])[0] == 403


@claims
def accounts(sites):
    """A program creates, disables, enables and deletes accounts."""
    for site in sites:
        key = site.key("accounts")
        entry = {"email": "bob@example.org", "password": "correct horse battery", "device": {"id": "d", "name": "d"}}
        path = f"/service/accounts/{site.bob['account_id']}"
        assert ask(site.port, "POST", f"{path}/disable", token=key)[1]["isDisabled"]
        assert ask(site.port, "GET", "/auth/sessions", token=site.bob["access_token"])[0] == 401
        # A busy machine hashes slowly.
        status, refusal = ask(site.port, "POST", "/auth/sign-in", entry, patience=PATIENCE)
        assert (status, refusal["reason"]) == (403, "account_disabled"), refusal
        assert ask(site.port, "POST", f"{path}/enable", token=key)[0] == 200
        assert ask(site.port, "POST", "/auth/sign-in", entry, patience=PATIENCE)[0] == 200
        status, made = ask(site.port, "POST", "/service/accounts", {"email": "carol@example.org"}, key)
        assert status == 201 and site.jmap(key, "note/set", made["id"], create={"x": {"text": "hi"}})[1]["created"]
        assert ask(site.port, "DELETE", f"/service/accounts/{made['id']}", token=key)[0] == 200
        assert site.jmap(key, "note/get", made["id"], ids=None)[1]["type"] == "accountNotFound"


@claims
def revoked(sites):
    """All servers of the data accept a key at once, and none of them accepts it after it is revoked."""
    for site in sites:
        key = site.key("revoked")
        assert [ask(port, "GET", "/service/accounts", token=key)[0] for port in site.ports] == [200] * len(site.ports)
        listed = site.command("key", "list")
        assert "revoked" in listed and key not in listed, listed
        site.command("key", "revoke", "revoked")
        assert [ask(port, "GET", "/service/accounts", token=key)[0] for port in site.ports] == [401] * len(site.ports)


@claims
def secrets(sites):
    """The servers' logs name the keys by their ids, and have the text of none."""
    for site in sites:
        key = site.key("secret")
        assert ask(site.port, "GET", "/auth/sessions", token=key)[0] == 401
        said = "".join(server.said for server in site.servers)
        assert "service_key_refused" in said and "optk_" not in said, said


@claims
def copied(sites):
    """Keys move to PostgreSQL with a copy of the data."""
    if len(sites) < 2:
        raise Skip("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory() as folder, Postgres() as cluster:
        site = Site(folder, "--data", f"{folder}/data")
        key, secret = site.key("copied"), Path(folder, "data", "keys.json")
        site.servers[0].terminate()
        status, out, err = run("copy", "--from", f"{folder}/data", "--to", cluster.url)
        assert status == 0, (out, err)
        server = Program(
            "serve", "--port", "0", "--database", cluster.url, "--secret", secret, "--schema", f"{folder}/schema.json")
        try:
            port = urlsplit(server.find(r"serves (http://[^ ]+)")).port
            assert ask(port, "GET", "/service/accounts", token=key)[0] == 200
        finally:
            server.kill()


class Between:
    """A proxy of a site, which a job uses. It edits rows as a device before the first write of a job."""

    def __init__(self, site):
        self.site, self.edit = site, None
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def handler(self):
        between = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0))) or None
                if body and b"/set" in body and between.edit:
                    edit, between.edit = between.edit, None
                    edit()
                connection = http.client.HTTPConnection("127.0.0.1", between.site.port, timeout=PATIENCE)
                connection.request(self.command, self.path, body, {
                    name: self.headers[name] for name in ("authorization", "content-type") if name in self.headers})
                answer = connection.getresponse()
                text = answer.read()
                self.send_response(answer.status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        return Handler

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@claims
def guide(sites):
    """K2 K4 The guide's code runs as printed, and its jobs keep edits that arrive between reading and writing."""
    for site in sites:
        ann, token = site.ann["account_id"], site.ann["access_token"]

        def change(**arguments):
            answer = site.jmap(token, "invoice/set", ann, **arguments)[1]
            assert answer["created"] or answer["updated"], answer

        def status(row):
            return site.jmap(token, "invoice/get", ann, ids=[row])[1]["list"][0]["status"]

        with tempfile.TemporaryDirectory() as folder, contextlib.closing(Between(site)) as between:
            path = f"{Path(node()).parent}:{Path(OPTIMIST).resolve().parent}:{os.environ['PATH']}"
            environment = {**os.environ, **site.environment, "PATH": path, "SYNC_URL": between.url}

            def job(*command, key):
                done = subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE,
                    env={**environment, "SYNC_KEY": key})
                assert done.returncode == 0, (command, done.stdout, done.stderr)
                return done.stdout

            said = job("bash", "-c", script(GUIDE, folder).replace("https://sync.example.org", between.url), key="")
            assert "1 overdue" in said and "2025-117 paid" in said and "\"stateMismatch\"" not in said, said
            assert status("0b9d4f6e-3f5a-4c53-9d0e-7a1c2b3d4e5f") == "paid"
            reader = enter(site.port, "sign-up", "dora@example.org", "dora")["access_token"]
            news = site.jmap(reader, "article/get", "s4b1c0e526a3d4d0e8f570c1d2e3f4a5b", ids=None)[1]
            assert [row["title"] for row in news["list"]] == ["We are open"], news
            refused = Path(folder, "billing.key").read_text().strip()
            assert ask(site.port, "GET", "/service/accounts", token=refused)[0] == 401
            late, sent = str(uuid.uuid4()), str(uuid.uuid4())
            change(create={
                row: {"number": row, "due": "2025-12-31T00:00:00Z", "status": "open"} for row in (late, sent)})
            key = site.key("jobs", "--types", "invoice")
            between.edit = lambda: change(update={sent: {"status": "paid"}})
            assert job("python3", "overdue.py", "ann@example.org", key=key) == "1 overdue\n"
            assert (status(late), status(sent)) == ("overdue", "paid")
            between.edit = lambda: change(update={late: {"status": "cancelled"}})
            assert job("node", "paid.ts", "ann@example.org", late, key=key) == f"{late} cancelled\n"
            assert status(late) == "cancelled"


@claims
def answers(sites):
    """K1 Errors and trace logs never have a key's text, even if a program sends it in the wrong place."""
    for site in sites:
        key, ann = site.key("answers", scope="read"), site.ann["account_id"]
        assert site.jmap(key, "note/set", ann, create={"x": {"text": "no"}})[1]["type"] == "accountReadOnly"
        assert site.jmap(key, "note/get", key, ids=None)[1]["type"] == "accountNotFound"
        for head in {"Authorization": f"Basic {key}"}, {"Authorization": f"Bearer {key}x"}, {"X-Key": key}:
            connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
            connection.request("GET", "/service/accounts", headers=head)
            answer = connection.getresponse()
            assert answer.status == 401, (head, answer.status)
            ERRORS.append(f"{answer.headers}{answer.read()}")
        for method, path, body in [
                ("POST", "/auth/sign-in", {"email": key, "password": key, "device": {"id": "d"}}),
                ("POST", "/service/accounts", {"email": key}), ("GET", f"/service/accounts?email={key}", None)]:
            assert ask(site.port, method, path, body, key, patience=PATIENCE)[0] < 500, path
        refresh = {"grant_type": "refresh_token", "refresh_token": key}
        assert ask(site.port, "POST", "/auth/token", form=refresh)[0] == 400
        said = "".join(server.said for server in site.servers)
        assert len(ERRORS) > 10 and len(site.keys) > 5 and " trace " in said
        for each in site.keys:
            assert each[5:] not in said, "a log has a key"
            assert not [error for error in ERRORS if each[5:] in error], "an error has a key"


@claims
def listed(sites):
    """K1 The operator's port lists each key with its name, rights and last use, and never its text."""
    for site in sites:
        key = site.key("listed", "--types", "note", scope="read")

        def shown(server):
            address = server.find(r"pages are at (http://[^ ]+)/admin")
            with urllib.request.urlopen(f"{address}/admin/api/keys", timeout=PATIENCE) as answer:
                text = answer.read().decode()
            assert key[5:] not in text and "optk_" not in text, text
            return next(each for each in json.loads(text)["keys"] if each["name"] == "listed")

        for server in site.servers:
            found = shown(server)
            assert found["scope"] == "read" and found["types"] == ["note"] and found["isValid"], found
            assert found["lastUsedAt"] is None, found
        assert site.jmap(key, "note/get", site.ann["account_id"], ids=None)[0] == 200
        for server in site.servers:
            eventually("its use is noted", lambda: shown(server)["lastUsedAt"])
        site.command("key", "revoke", "listed")
        assert not any(shown(server)["isValid"] for server in site.servers)


class Device(threading.Thread):
    """A device that listens, and reads the new rows of its account after each event."""

    def __init__(self, site, number):
        super().__init__(daemon=True)
        self.site, self.port, self.rows, self.heard = site, site.ports[number % len(site.ports)], set(), 0
        grant = enter(self.port, "sign-up", f"job{number}@example.org", f"job{number}")
        self.token, self.account = grant["access_token"], grant["account_id"]
        self.state = self.call("note/get", ids=[])["state"]
        self.start()

    def call(self, method, **arguments):
        status, answer = self.site.jmap(self.token, method, self.account, self.port, **arguments)
        assert status == 200, answer
        return answer

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", "/jmap/eventsource?types=*&closeafter=no&ping=60", headers={
            "Authorization": f"Bearer {self.token}"})
        answer = connection.getresponse()
        while line := answer.readline():
            self.heard += 1
            if line.startswith(b"data:") and self.account in line.decode():
                self.read()

    def read(self):
        has_more = True
        while has_more:
            changes = self.call("note/changes", sinceState=self.state)
            self.rows |= {row["text"] for row in self.call("note/get", ids=changes["created"])["list"]}
            self.state, has_more = changes["newState"], changes["hasMoreChanges"]


@claims
def job(sites):
    """K4 A program writes 2,000 rows into 50 accounts, and ten devices that listen get all their rows."""
    for site in sites:
        key = site.key("job")
        devices = [Device(site, number) for number in range(10)]
        eventually("they listen", lambda: all(device.heard for device in devices))
        accounts = [device.account for device in devices]
        for number in range(len(accounts), 50):
            made = ask(site.port, "POST", "/service/accounts", {"email": f"job{number}@example.org"}, key)
            accounts.append(made[1]["id"])

        def write(part):
            """Ten rows in each of five accounts."""
            status, answer = ask(site.ports[part % len(site.ports)], "POST", "/jmap", {"using": [CORE], "methodCalls": [
                ["note/set", {"accountId": account, "create": {
                    f"r{row}": {"text": f"{part // 10} {row}"} for row in range(10)}}, account]
                for account in accounts[part % 10::10]]}, key, patience=PATIENCE)
            assert status == 200, answer
            return sum(len(stored["created"]) for _, stored, _ in answer["methodResponses"])

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(write, range(40))) == 2_000
        wanted = {f"{part} {row}" for part in range(4) for row in range(10)}
        eventually(lambda: f"misses: {[len(wanted - device.rows) for device in devices]}",
                   lambda: all(device.rows == wanted for device in devices))
        for account in accounts:
            stored = site.jmap(key, "note/get", account, ids=None)[1]["list"]
            assert len(stored) == 40 and {row["text"] for row in stored} == wanted, account


@contextlib.contextmanager
def places():
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        sites = [Site(folder, "--data", f"{folder}/data")]
        stack.callback(sites[0].close)
        if programs():
            cluster, secret = stack.enter_context(Postgres()), Path(folder, "secret")
            secret.write_text(run("secret")[1])
            sites.append(Site(folder, "--database", cluster.url, "--secret", str(secret), count=2))
            stack.callback(sites[1].close)
        yield sites


if __name__ == "__main__":
    with places() as found:
        claims.run(found)
