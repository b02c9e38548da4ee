# This source file is part of the Optimist open source project, under the MIT licence.
"""A server and phones in separate processes, and the judge of what the phones wrote."""

import http.client
import json
import os
import random
import re
import socket
import subprocess
import threading
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from program import OPTIMIST, PATIENCE, Program, eventually

PHONE = os.environ.get("OPTIMIST_PHONE") or Path(OPTIMIST).with_name("PhoneProcess")


class Gone(Exception):
    """The process has ended."""


# A UDP socket for each drawn port, so that no other test draws the port while the server is down.
_drawn = []


def free_port():
    """A port outside the range that the system assigns, so that it is free again after each kill."""
    while True:
        port = random.SystemRandom().randrange(20_000, 30_000)
        mark = socket.socket(type=socket.SOCK_DGRAM)
        with socket.socket() as probe:
            try:
                mark.bind(("127.0.0.1", port))
                probe.bind(("127.0.0.1", port))
            except OSError:
                mark.close()
                continue
        _drawn.append(mark)
        return port


def email(account):
    return f"{account}@example.org"


class Server:
    """`optimist serve`, which may be killed and restarted at the same address."""

    def __init__(self, folder, environment=None, log_level="notice"):
        self.folder, self.port, self.log_level = Path(folder), free_port(), log_level
        self.address = f"http://127.0.0.1:{self.port}"
        self.database = self.folder / "optimist.sqlite"
        self.program = None
        self._grants = {}
        self.start(environment)

    def start(self, environment=None):
        """Starts it without waiting for it."""
        self.program = Program(
            "serve", "--port", self.port, "--data", self.folder, "--log-level", self.log_level, environment=environment)

    def kill(self):
        self.program.kill()

    def until_up(self):
        eventually(lambda: f"the server is up:\n{self.program.said}", self.is_up)

    def is_up(self):
        try:
            return self.ask("GET", "/healthz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def ask(self, method, path, body=None, token=None):
        """Returns the status, head and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            head = {"Content-Type": "application/json"} if body else {}
            if token:
                head["Authorization"] = f"Bearer {token}"
            connection.request(method, path, body and json.dumps(body), head)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def call(self, name, account="phones", **arguments):
        """Calls one method for an account. Returns the status, head and body."""
        grant = self._grants.get(account) or eventually("signed in", lambda: self.sign_in(account))
        request = {
            "using": ["urn:ietf:params:jmap:core", "urn:x-optimist:rowsync"],
            "methodCalls": [[name, {"accountId": grant["account_id"], **arguments}, "0"]],
        }
        answer = self.ask("POST", "/jmap/", request, grant["access_token"])
        if answer[0] == 401:
            del self._grants[account]
            return self.call(name, account, **arguments)
        return answer

    def sign_in(self, account):
        """Returns the grant for an account, or None if the server cannot sign anyone in now."""
        entry = {
            "email": email(account), "password": "correct horse battery",
            "device": {"id": str(uuid.uuid4()), "name": "judge"},
        }
        status, _, text = self.ask("POST", "/auth/sign-in", entry)
        assert status in (200, 503), (status, text)
        if status == 200:
            self._grants[account] = json.loads(text)
        return self._grants.get(account)

    def rows(self, account="phones"):
        """The server's rows in the phones' format, or None if it cannot answer now."""
        try:
            status, _, text = self.call("todo/get", account, ids=None)
        except (OSError, http.client.HTTPException):
            return None
        assert status in (200, 503), (status, text)
        if status == 503:
            return None
        answer = json.loads(text)["methodResponses"][0][1]
        return sorted([row["id"].replace("-", ""), row["content"], row["priority"]] for row in answer["list"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.__exit__()


@dataclass
class Pair:
    """Two to-dos that are always written together. Numbers only grow."""

    acknowledged: int = None
    tried: list = field(default_factory=list)

    @property
    def possible(self):
        later = self.tried if self.acknowledged is None else [n for n in self.tried if n > self.acknowledged]
        return [self.acknowledged, *later]


class Phone:
    """A `PhoneProcess` and its writes."""

    PAIRS = 12

    def __init__(self, folder, server, seed=0, environment=None, account="phones", durability="full"):
        self.folder, self.server, self.account, self.durability = Path(folder), server, account, durability
        self.folder.mkdir(parents=True, exist_ok=True)
        self.database = self.folder / "planner.sqlite"
        self.pairs = defaultdict(Pair)
        self.random = random.Random(seed)
        self.last = 0
        self.start(environment)

    # MARK: its process

    def start(self, environment=None):
        """Starts it without waiting for it."""
        self.said, self._answers, self._status = [], [], None
        self._changed = threading.Condition()
        self._process = subprocess.Popen(
            [PHONE, self.folder, self.server.address, email(self.account), self.durability], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **(environment or {})})
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def _read(self, process):
        for line in process.stdout:
            words = line.rstrip("\n").split(" ", 3)
            with self._changed:
                if words[0] in ("open", "done", "failed", "rows", "progress", "status"):
                    self._answers.append(words)
                if words[0] not in ("status", "rows", "progress"):
                    self.said = [*self.said[-20:], line]
                self._changed.notify_all()
        with self._changed:
            self._answers.append(None)
            self._changed.notify_all()

    def _answer(self, seconds=PATIENCE):
        with self._changed:
            assert self._changed.wait_for(lambda: self._answers, seconds), f"no answer:\n{''.join(self.said)}"
            answer = self._answers[0]
            if answer is None:
                raise Gone
            return self._answers.pop(0)

    def _say(self, line):
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError):  # Broken, or already closed.
            raise Gone from None

    def until_open(self):
        """Waits until it accepts writes. Raises Gone if it ends before that."""
        assert self._answer()[0] == "open"

    def kill(self):
        self._process.kill()
        self.until_gone()

    def until_gone(self):
        self._process.wait(PATIENCE)
        self._reader.join()
        try:
            self._process.stdin.close()
        except OSError:
            pass  # A line was in flight.
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    # MARK: its user

    def any_label(self):
        return f"{self.folder.name}-{self.random.randrange(self.PAIRS)}"

    def write(self, label=None):
        """Writes a new number to a pair. Returns whether that was acknowledged; raises Gone if there was no answer."""
        label = label or self.any_label()
        self.last += 1
        pair, number = self.pairs[label], self.last
        pair.tried.append(number)
        self._say(f"write {label} {number}")
        answer = self._answer()
        if answer[0] == "done":
            assert answer[1:] == [label, str(number)], answer
            pair.acknowledged, pair.tried = number, []
        return answer[0] == "done"

    def writes(self, count):
        """Writes `count` times, or until it is gone. Returns how many writes were acknowledged."""
        done = 0
        try:
            for _ in range(count):
                done += self.write()
        except Gone:
            pass
        return done

    def fill(self, count, seconds=PATIENCE):
        """Inserts `count` rows outside any pair."""
        self._say(f"fill {count}")
        assert self._answer(seconds)[:3] == ["done", "fill", str(count)]

    @property
    def received(self):
        """The number of rows its first sync has received, or None when it is complete."""
        self._say("progress")
        answer = self._answer()
        assert answer[0] == "progress", answer
        return None if answer[1] == "-1" else int(answer[1])

    @property
    def peak_memory(self):
        """The peak memory of its process in bytes, or None where the system does not report it."""
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text()
        except OSError:
            return None
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024

    @property
    def rows(self):
        self._say("rows")
        answer = self._answer()
        assert answer[0] == "rows", answer
        return sorted(json.loads(" ".join(answer[1:])))

    # MARK: the outcome

    @property
    def status(self):
        """The numbers of pending and rejected rows, and the phase; None if it cannot answer."""
        self._say("status")
        answer = self._answer()
        self._status = (int(answer[1]), int(answer[2]), answer[3]) if answer[0] == "status" else None
        return self._status

    @property
    def has_sent(self):
        status = self.status
        assert not status or status[1] == 0, f"rejected: {status}"
        return status is not None and status[0] == 0

    def until_sent(self):
        """Waits until nothing is pending, without intervening."""
        eventually(lambda: self.what("sent"), lambda: self.has_sent, PATIENCE)

    def until_says(self, phase):
        eventually(lambda: self.what(phase), lambda: (status := self.status) and phase in status[2], PATIENCE)

    def what(self, wanted):
        return f"{self.folder.name}: {wanted}; last {self._status}, and it said\n{''.join(self.said)}"


def settle(server, phones):
    """Waits until an account's rows have arrived everywhere, and compares them with the acknowledged rows."""
    for phone in phones:
        phone.until_sent()
    seen = {}

    def is_equal():
        seen["server"], seen["phones"] = server.rows(phones[0].account), [phone.rows for phone in phones]
        return all(rows == seen["server"] for rows in seen["phones"])

    eventually(lambda: f"equal: {seen} {[phone.what('equal') for phone in phones]}", is_equal, PATIENCE)
    judge(seen["server"], {label: pair for phone in phones for label, pair in phone.pairs.items()})


def judge(rows, pairs):
    """Each pair exists once, is complete, and is at least as new as acknowledged."""
    found = defaultdict(list)
    for _, label, number in rows:
        found[label].append(number)
    unknown = found.keys() - pairs.keys()
    assert not unknown, f"nobody wrote {unknown}"
    for label, pair in pairs.items():
        numbers = found.get(label, [])
        assert len(numbers) in (0, 2) and len(set(numbers)) <= 1, f"{label} is half or double: {numbers}"
        number = numbers[0] if numbers else None
        assert number in pair.possible, f"{label} is {number}, not one of {pair.possible}"
        # The outcome of an unanswered write is now final.
        pair.acknowledged, pair.tried = number, []
