# This source file is part of the Optimist open source project, under the MIT licence.
"""Jobs with service keys, on a directory and on PostgreSQL: the code of Documentation/WriteFromYourBackend.md, and many
rows for devices that listen.

It starts servers with $OPTIMIST.
"""

import contextlib
import http.client
import http.server
import os
import subprocess
import tempfile
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from service_sites import CORE, GUIDE, ask, places
from claims import Claims
from guides import blocks, node, script
from program import OPTIMIST, PATIENCE, eventually
from writers import enter

claims = Claims()


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
            [find] = [block for block in blocks(GUIDE, "sh") if block.startswith("curl") and "found.json" in block]
            failed = subprocess.run(
                ["bash", "-c", f"set -e\n{find}"], cwd=folder, capture_output=True, text=True, timeout=PATIENCE,
                env={**environment, "SYNC_KEY": refused})
            assert failed.returncode == 22 and "401" in failed.stderr, failed
            assert "revoked" in Path(folder, "found.json").read_text(), "the server's answer is lost"
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


if __name__ == "__main__":
    with places() as found:
        claims.run(found)
