# This source file is part of the Optimist open source project, under the MIT licence.
"""Webhooks and the hook over HTTP, with the guide's receivers in Python and TypeScript, on a directory and on two
servers of one PostgreSQL.

It starts servers with $OPTIMIST.
"""

import base64
import contextlib
import hmac
import http.client
import json
import random
import re
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections import defaultdict
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[3] / "Scripts")]
from claims import Claims  # noqa: E402
from form import form  # noqa: E402
from guides import blocks, node  # noqa: E402
from phones import free_port  # noqa: E402
from program import Program, eventually, run  # noqa: E402
from testing.postgres import Postgres, programs  # noqa: E402
from writers import ask, enter  # noqa: E402

CORE = "urn:ietf:params:jmap:core"
SCHEMA = {"id": "todos", "version": 1, "types": {
    "todo": {"content": {"type": "string"}}, "note": {"text": {"type": "string"}}}}
KILLS = form(4, 50, 100)
ACCOUNTS = 4
claims = Claims()


class Receiver:
    """The guide's receiver in Python, with faults. A restart keeps its port and its notes."""

    def __init__(self, folder, secret):
        self.folder, self.secret, self.port = folder, secret, free_port()
        folder.mkdir()
        (folder / "notes").touch()
        self.fault("")
        self.start()

    def start(self):
        self.program = Program(
            Path(__file__).with_name("webhook_receiver.py"), self.port, self.folder, program=sys.executable,
            environment={"WEBHOOK_SECRET": self.secret})
        self.program.find(r"receives at (\d+)")

    def fault(self, words):
        new = self.folder / "fault.new"
        new.write_text(words)
        new.replace(self.folder / "fault")

    @property
    def notes(self):
        """Account and seq of each transaction that it took, in order."""
        return [(line.split()[0], int(line.split()[1])) for line in (self.folder / "notes").read_text().splitlines()]

    def seqs(self, account):
        return [seq for name, seq in self.notes if name == account]

    def close(self):
        self.program.kill()


class TypeScriptReceiver(Receiver):
    """The guide's receiver in TypeScript, as it is printed."""

    def start(self):
        (self.folder / "receiver.ts").write_text(blocks("Webhooks.md", "ts")[0])
        self.program = Program(
            "receiver.ts", program=node(), folder=self.folder,
            environment={"WEBHOOK_SECRET": self.secret, "PORT": str(self.port)})
        eventually(lambda: f"it listens: {self.program.said}", self.is_listening)

    def is_listening(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True

    @property
    def notes(self):
        lines = re.findall(r"^(\w+) (\d+) \d+$", self.program.said, re.MULTILINE)
        return [(account, int(seq)) for account, seq in lines]


class Site:
    """Servers with the same data. `place` are the options that name the data."""

    def __init__(self, folder, *place, count=1):
        folder.mkdir(exist_ok=True)
        self.folder, self.place = folder, place
        # A receiver has the former secret as well while its secret is replaced.
        self.former, self.secret = (run("webhook", "secret")[1].strip() for _ in range(2))
        (folder / "webhook.secret").write_text(self.secret + "\n")
        (folder / "schema.json").write_text(json.dumps(SCHEMA))
        both = f"{self.former} {self.secret}"
        self.receivers = {name: Receiver(folder / name, both) for name in ("main", "other", "notes", "gate")}
        self.receivers["typescript"] = TypeScriptReceiver(folder / "typescript", both)
        self.ports = [free_port() for _ in range(count)]
        self.servers = [self.start(port) for port in self.ports]
        self.said = ""
        self.key = self.command("key", "create", "test", "--scope", "write")
        self.accounts = [enter(self.ports[0], "sign-up", f"{number}@example.org", f"phone{number}")["account_id"]
                         for number in range(ACCOUNTS)]
        self.wrote, self.skipped = defaultdict(int), set()

    def start(self, port):
        def url(name, *settings):
            return " ".join([f"http://127.0.0.1:{self.receivers[name].port}/{name}?token=hidden-token", f"name={name}",
                             f"secret={self.folder}/webhook.secret", "timeout=2", *settings])

        server = Program(
            "serve", "--port", port, "--schema", self.folder / "schema.json", *self.place, "--webhook", url("main"),
            "--webhook", url("other"), "--webhook", url("typescript"), "--webhook", url("notes", "type=note"),
            "--log-level", "debug", "--hook",
            f"http://127.0.0.1:{self.receivers['gate'].port}/gate secret={self.folder}/webhook.secret deadline=1")
        server.find(r"serves (http://[^ ]+)")
        return server

    def kill(self, index):
        self.said += self.servers[index].said
        self.servers[index].kill()
        self.servers[index] = self.start(self.ports[index])

    def command(self, *arguments):
        status, out, err = run(*arguments, *self.place)
        assert status == 0, (arguments, out, err)
        return out.strip()

    def write(self, account, content="tea", type="todo", row=None, index=0, patience=10):
        """One transaction. The number of the account's last transaction, or the answer if the row is refused."""
        row = row or str(uuid.uuid4())
        column = "text" if type == "note" else "content"
        status, answer = ask(self.ports[index], "POST", "/jmap", {"using": [CORE], "methodCalls": [
            [f"{type}/set", {"accountId": account, "create": {row: {column: content}}}, "0"]]}, self.key,
            patience=patience)
        assert status == 200, (status, answer)
        [[_, stored, _]] = answer["methodResponses"]
        if not stored.get("created"):
            return stored
        self.wrote[account] = max(self.wrote[account], int(stored["newState"].rsplit(".", 1)[1]))
        return stored

    def listed(self, name):
        found = json.loads(self.command("webhook", "list", "--json"))["webhooks"]
        return next(webhook for webhook in found if webhook["name"] == name)

    def all_arrived(self, name):
        """Waits until a receiver has all transactions, and asserts that each account's first arrivals are in order."""
        receiver = self.receivers[name]
        for account in self.accounts:
            last = self.wrote[account]
            eventually(lambda: f"{name} misses {set(range(1, last + 1)) - set(receiver.seqs(account))}",
                       lambda: set(receiver.seqs(account)) >= set(range(1, last + 1)))
            firsts = [seq for seq in dict.fromkeys(receiver.seqs(account)) if (account, seq) not in self.skipped]
            assert firsts == sorted(firsts), firsts

    def close(self):
        for server in self.servers:
            server.kill()
        for receiver in self.receivers.values():
            receiver.close()


@claims
def order(sites):
    """D1 D5 Each receiver gets each transaction of each account once, in order, and a receiver of one type its rows."""
    for site in sites:
        for number in range(40):
            site.write(site.accounts[number % ACCOUNTS], index=number % len(site.ports))
        site.write(site.accounts[0], type="note")
        for name in ("main", "other", "typescript"):
            site.all_arrived(name)
            notes = site.receivers[name].notes
            assert len(notes) == len(set(notes)), "a transaction is repeated although nothing failed"
        noted = eventually("the note arrives", lambda: site.receivers["notes"].notes)
        assert set(noted) == {(site.accounts[0], site.wrote[site.accounts[0]])}, noted


@claims
def isolation(sites):
    """D3 An account whose calls fail waits alone, and a receiver that is down or slow holds up no other."""
    for site in sites:
        main, other = site.receivers["main"], site.receivers["other"]
        bad, good = site.accounts[:2]
        main.fault(f"refuse={bad}")
        other.fault("slow")
        before = len(main.seqs(bad))
        site.write(bad)
        for _ in range(5):
            site.write(good)
        eventually("the good account arrives", lambda: site.wrote[good] in main.seqs(good), 60)
        assert len(main.seqs(bad)) == before
        eventually("it is listed", lambda: site.listed("main")["failure"] == "status.500", 60)
        eventually("the slow one is late", lambda: site.listed("other")["failure"] == "late", 60)
        main.fault("")
        other.fault("")
        site.all_arrived("main")
        site.all_arrived("other")


@claims
def redirects(sites):
    """D4 Redirects are not followed. A receiver that answers 410 gets nothing more until it is resumed."""
    for site in sites:
        main, account = site.receivers["main"], site.accounts[2]
        main.fault("redirect")
        site.write(account)
        eventually("it is listed", lambda: site.listed("main")["failure"] == "redirected", 60)
        assert not (main.folder / "redirected").exists()
        main.fault("410")
        site.command("webhook", "resume", "main")
        eventually("it is off", lambda: site.listed("main")["isOff"], 60)
        main.fault("")
        site.write(account)
        site.all_arrived("other")
        assert site.wrote[account] not in main.seqs(account)
        site.command("webhook", "resume", "main")
        site.all_arrived("main")


@claims
def replay(sites):
    """D6 An operator sends the transactions of one account again, and skips those of another."""
    for site in sites:
        main, account = site.receivers["main"], site.accounts[3]
        before = len(main.notes)
        site.command("webhook", "replay", "main", "--from", "2", "--account", account)
        again = range(2, site.wrote[account] + 1)
        eventually("it is sent again", lambda: len(main.notes) >= before + len(again), 60)
        assert main.notes[before:] == [(account, seq) for seq in again], main.notes[before:]
        status, _, err = run("webhook", "replay", "main", "--from", "1", "--account", "nobody", *site.place)
        assert status and "no account" in err, err
        last = site.wrote[account]
        status, _, err = run("webhook", "replay", "main", "--from", 99_999, "--account", account, *site.place)
        assert status and f"its last one is {last}" in err, err
        status, _, err = run("webhook", "replay", "main", "--from", 99_999, *site.place)
        assert status == 64 and "needs --account" in err, err
        main.fault("500")
        site.write(account)
        eventually("it fails", lambda: site.listed("main")["failing"], 60)
        skipped = site.wrote[account]
        site.skipped.add((account, skipped))
        site.command("webhook", "replay", "main", "--from", "end", "--account", account)
        main.fault("")
        site.write(account)
        eventually("the next one arrives", lambda: site.wrote[account] in main.seqs(account), 60)
        assert skipped not in main.seqs(account)
        site.command("webhook", "replay", "main", "--from", skipped, "--account", account)
        eventually("it is sent after all", lambda: skipped in main.seqs(account), 60)


def answered(receiver, secrets, body, sent=None, signed=None):
    """The status and the JSON of a receiver's answer to a call that some secrets have signed."""
    sent = int(time.time()) if sent is None else sent
    text = f"a.{sent}.".encode() + (signed or body)
    marks = [hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), text, "sha256") for secret in secrets]
    connection = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=60)
    connection.request("POST", "/", body, {
        "webhook-id": "a", "webhook-timestamp": str(sent),
        "webhook-signature": " ".join(["v1,other", *(f"v1,{base64.b64encode(mark).decode()}" for mark in marks)])})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


@claims
def signatures(sites):
    """D2 The guide's receivers take either of two secrets, and refuse changed bodies, wrong times and other secrets."""
    site, stranger, now = sites[0], run("webhook", "secret")[1].strip(), int(time.time())
    body = json.dumps({"type": "willApply", "data": {"rows": []}}).encode()
    refused = json.dumps({"type": "willApply", "data": {"rows": [
        {"type": "todo", "id": "x", "before": None, "after": {"content": ""}, "changed": ["content"]}]}}).encode()
    for name in ("gate", "typescript"):
        receiver = site.receivers[name]
        for secrets in ([site.secret], [site.former], [stranger, site.secret]):
            assert answered(receiver, secrets, body) == (200, {}), name
        assert answered(receiver, [site.secret], refused)[1]["refuse"]["code"] == "empty", name
        for secrets, sent, signed in [
                ([site.secret], now, b"{}"), ([site.secret], now - 301, None), ([site.secret], now + 310, None),
                ([site.secret], "", None), ([stranger], now, None), ([], now, None)]:
            assert answered(receiver, secrets, body, sent, signed)[0] == 401, (name, secrets, sent, signed)


@claims
def hook(sites):
    """D7 The hook's address refuses and amends rows, and one that is late or down defers the write."""
    for site in sites:
        account, gate, row = site.accounts[0], site.receivers["gate"], str(uuid.uuid4())
        refused = site.write(account, content="")["notCreated"]
        [error] = refused.values()
        assert error["type"] == "forbidden" and error.get("code") == "empty", refused
        assert site.write(account, content="amend", row=row)["created"]
        _, answer = ask(site.ports[0], "POST", "/jmap", {"using": [CORE], "methodCalls": [
            ["todo/get", {"accountId": account, "ids": [row]}, "0"]]}, site.key)
        assert answer["methodResponses"][0][1]["list"][0]["content"] == "amended", answer
        gate.fault("late")
        [error] = site.write(account)["notCreated"].values()
        assert error["type"] == "rateLimit", error
        gate.fault("")
        gate.program.kill()
        [error] = site.write(account)["notCreated"].values()
        assert error["type"] == "serverFail", error
        gate.start()
        assert site.write(account)["created"]


@claims
def killed(sites):
    """D1 However often servers and receivers are killed, slow and failing, nothing is missed and the order is kept."""
    chance = random.Random(8)
    for site in sites:
        enough, repeated = threading.Event(), 0

        def write(account):
            while not enough.is_set():
                with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
                    site.write(account, index=chance.randrange(len(site.ports)))
                time.sleep(0.01)

        threads = [threading.Thread(target=write, args=[account]) for account in site.accounts]
        before = {name: len(site.receivers[name].notes) for name in ("main", "other")}
        first = dict(site.wrote)
        for thread in threads:
            thread.start()
        for number in range(KILLS):
            receiver = site.receivers[chance.choice(["main", "other"])]
            receiver.fault(chance.choice(["", "", "slow", "500", "redirect"]))
            time.sleep(chance.uniform(0, 1.5))
            if chance.random() < 0.5:
                receiver.program.kill()
                receiver.start()
            site.kill(number % len(site.ports))
            receiver.fault("")
        enough.set()
        for thread in threads:
            thread.join()
        for name in ("main", "other", "typescript"):
            site.command("webhook", "resume", name)
        for account in site.accounts:
            # The last writes may have been stored without an answer.
            site.write(account)
        site.all_arrived("typescript")
        for name in ("main", "other"):
            site.all_arrived(name)
            sent = sum(site.wrote[account] - first.get(account, 0) for account in site.accounts)
            repeated += len(site.receivers[name].notes) - before[name] - sent
        print(f"      {site.place[0]}: {KILLS} kills, {sent} transactions for each of two receivers, {repeated} repeated, "
              "none missed or out of order", flush=True)


@claims
def secrets(sites):
    """D2 Neither the logs, nor the printed configuration, nor the list has the secrets or the query of an address."""
    for site in sites:
        said = site.said + "".join(server.said for server in site.servers) + site.command("webhook", "list")
        option = f"http://127.0.0.1:1/x?token=hidden-token secret={site.folder}/webhook.secret"
        printed = run("serve", "--print-configuration", "--webhook", option, "--hook", option)[1]
        assert "http://127.0.0.1:1/x" in printed, printed
        (site.folder / "bad.secret").write_text("whsec_abcdefg")
        status, out, err = run("serve", "--port", "0", "--schema", site.folder / "schema.json", "--data",
                               site.folder / "unused", "--webhook", f"http://127.0.0.1:1 secret={site.folder}/bad.secret")
        assert status and "webhook secret" in err, (out, err)
        for secret in (site.secret.removeprefix("whsec_"), "hidden-token", "abcdefg"):
            assert secret not in said + printed + out + err, secret


@contextlib.contextmanager
def places(make=Site):
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sites = [make(folder / "directory", "--data", folder / "directory" / "data")]
        stack.callback(sites[0].close)
        if programs():
            cluster = stack.enter_context(Postgres())
            (folder / "secret").write_text(run("secret")[1])
            sites.append(make(folder / "shared", "--database", cluster.url, "--secret", folder / "secret", count=2))
            stack.callback(sites[1].close)
        yield sites


if __name__ == "__main__":
    with places() as found:
        claims.run(found)
