# This source file is part of the Optimist open source project, under the MIT licence.
"""A small device in Python, written from Documentation/Protocol.md: it pushes numbered to-dos and counts, and moves
from server to server until each push is acknowledged."""

import http.client
import json
import threading
import time
import urllib.parse
import uuid
from collections import Counter
from dataclasses import dataclass

import form as forms
from program import eventually

PASSWORD = "correct horse battery"
USING = ["urn:ietf:params:jmap:core", "urn:x-optimist:rowsync"]
# How many counts a counter gets before the next counter is used, so that a later total does not repair a lost one.
COUNTS = 5
# The pause between two requests, in seconds.
PAUSE = forms.form(0.1, 0.02, 0.02)


def ask(port, method, path, body=None, token=None, form=None, patience=5):
    """Returns the status and the JSON of an answer. Raises OSError if the server is stopped and does not answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience)
    try:
        head = {"Authorization": f"Bearer {token}"} if token else {}
        if form:
            body, head["Content-Type"] = urllib.parse.urlencode(form), "application/x-www-form-urlencoded"
        elif body:
            body, head["Content-Type"] = json.dumps(body), "application/json"
        connection.request(method, path, body, head)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    finally:
        connection.close()


def enter(port, path, email, name):
    """Signs up or in with a device of that name, and returns the grant."""

    def granted():
        status, grant = ask(port, "POST", f"/auth/{path}", {
            "email": email, "password": PASSWORD, "device": {"id": name, "name": name}}, patience=60)
        assert status in (200, 201, 429), (status, grant)
        return grant if status != 429 else None

    return eventually(f"{email} is in", granted)


def tally(account, number):
    """The row whose counter has the counts of an account's pushes with that number, and a device's total there."""
    return str(uuid.uuid5(uuid.UUID(int=0), f"{account}/{(number - 1) // COUNTS}")), (number - 1) % COUNTS + 1


@dataclass
class Write:
    """An acknowledged push: what it wrote, and the state in its answer."""

    number: int
    row: str
    clock: str
    epoch: str
    seq: int
    at: float


class Writer(threading.Thread):
    """Writes until it is stopped. Its last push is then acknowledged."""

    def __init__(self, name, ports, grant, heals):
        super().__init__(daemon=True)
        self.name, self.ports, self.heals = name, ports, heals
        self.account, self.access, self.refresh_token = (
            grant["account_id"], grant["access_token"], grant["refresh_token"])
        self.device = uuid.uuid4().hex
        self.push, self.turn = 0, len(name)
        self.writes, self.last_clock = [], 0
        self.counts, self.problem = Counter(), None
        self._enough = threading.Event()
        self._refreshing = threading.Event()

    def run(self):
        try:
            while not self._enough.is_set():
                if self._refreshing.is_set():
                    self.refresh()
                    self._refreshing.clear()
                self.write()
                self._enough.wait(PAUSE)
        except Exception as problem:
            self.problem = problem
            self._refreshing.clear()

    def stop(self):
        self._enough.set()
        self.join()
        if self.problem:
            raise self.problem

    def next(self):
        """The same device, continuing in a new thread, because a thread runs only once."""
        grant = {"account_id": self.account, "access_token": self.access, "refresh_token": self.refresh_token}
        writer = Writer(self.name, self.ports, grant, self.heals)
        writer.device, writer.push, writer.turn = self.device, self.push, self.turn
        writer.writes, writer.last_clock, writer.counts = self.writes, self.last_clock, self.counts
        return writer

    def refresh_soon(self):
        """Takes new tokens, and returns when it has them."""
        self._refreshing.set()
        eventually(f"{self.name} has other tokens", lambda: not self._refreshing.is_set())

    def label(self, number):
        return f"{self.name}-{number}"

    # MARK: requests

    def until_answered(self, method, path, body=None, form=None, may_end=False):
        """Sends the same request to one server after another until one has carried it out."""
        tried = 0
        while True:
            port = self.ports[self.turn % len(self.ports)]
            self.turn += 1
            try:
                status, answer = ask(port, method, path, body, None if form else self.access, form)
            except (OSError, http.client.HTTPException):
                status, answer = None, None
            if status == 200:
                self.counts["requests that were repeated"] += tried > 0
                return answer
            if status == 401 and not form:
                assert answer.get("reason") is None, f"{self.name} was logged out: {answer}"
                self.refresh()
                continue
            assert status in (None, 503), f"{self.name}: {status} {answer}"
            self.counts["answers 503" if status else "broken or silent connections"] += 1
            tried += 1
            time.sleep(0.1)

    def refresh(self):
        grant = self.until_answered(
            "POST", "/auth/token", form={"grant_type": "refresh_token", "refresh_token": self.refresh_token})
        self.access, self.refresh_token = grant["access_token"], grant["refresh_token"]

    def jmap(self, calls, **more):
        request = {"using": USING, **more, "methodCalls": [
            [name, {"accountId": self.account, **arguments}, str(place)] for place, (name, arguments) in enumerate(calls)]}
        return [answer[:2] for answer in self.until_answered("POST", "/jmap/", request)["methodResponses"]]

    # MARK: writes

    def clock(self):
        self.last_clock = max(self.last_clock + 1, int(time.time() * 1000) << 16)
        return f"{self.last_clock:016x}-{self.device}"

    def write(self):
        number, row, clock = len(self.writes) + 1, str(uuid.uuid4()), self.clock()
        epoch, seq = self.send([(number, row, clock)])
        former = self.writes[-1] if self.writes else None
        self.writes.append(Write(number, row, clock, epoch, seq, time.monotonic()))
        if former and former.epoch != epoch and self.heals:
            self.heal(former)

    def send(self, writes):
        """Pushes under the next number. Returns the state of the answer."""
        todos, tallies = {}, {}
        for number, row, clock in writes:
            counter, total = tally(self.account, number)
            todos[row] = {"content": self.label(number), "priority": number, "@hlc": clock}
            # The later total replaces the previous one.
            tallies[counter] = {"name": "counts", "count": {"@total": total}, "@hlc": {"*": clock, "name": FIRST}}
        self.push += 1
        answers = self.jmap(
            [("todo/set", {"create": todos}), ("tally/set", {"create": tallies})], device=self.device, push=self.push)
        for name, answer in answers:
            assert name.endswith("/set") and not answer.get("notCreated"), f"{self.name}: {name} {answer}"
        epoch, _, seq = answers[-1][1]["newState"].partition(".")
        return epoch, int(seq.partition(".")[0])

    def heal(self, last):
        """Resends what the database may have lost: everything after the last state that both have."""
        [(name, answer)] = self.jmap([("todo/changes", {
            "sinceState": f"{last.epoch}.{last.seq}", "inline": True, "maxChanges": 1})])
        epochs = answer["epochs"]
        following = [entry["firstSeq"] for entry in epochs[1:]]
        assert epochs[0]["epoch"] == last.epoch and following, f"{self.name}: {name} {answer}"
        mine = [write for write in self.writes if write.epoch == last.epoch and write.seq > min(following)]
        self.counts["rows sent again"] += len(mine)
        if mine:
            self.send([(write.number, write.row, write.clock) for write in mine])
        self.counts["forks seen"] += name == "error"


# The clock of the column `name`, which all devices write alike.
FIRST = f"{1:016x}-device"


def judge(writers, node):
    """Asserts that exactly the rows acknowledged to an account's writers are stored, each once. Returns the number of
    to-dos."""
    account = writers[0].account
    found = node.sql(f"SELECT id, content::json->>'content' FROM optimist_rows "
                     f"WHERE account_id = '{account}' AND type = 'todo' AND generation % 2 = 1")
    wanted = {(write.row, writer.label(write.number)) for writer in writers for write in writer.writes}
    rows = Counter(map(tuple, found))
    lost, strange = wanted - rows.keys(), rows.keys() - wanted
    assert not lost, f"{len(lost)} acknowledged writes are lost: {sorted(lost)[:10]}"
    assert not strange and max(rows.values(), default=1) == 1, f"double or nobody's: {strange or rows.most_common(3)}"
    sums = Counter()
    for writer in writers:
        for write in writer.writes:
            sums[tally(account, write.number)[0]] += 1
    [(_, answer)] = writers[0].jmap([("tally/get", {"ids": None})])
    counted = {row["id"]: row["count"] for row in answer["list"]}
    wrong = {row: (counted.get(row), count) for row, count in sums.items() if counted.get(row) != count}
    assert not wrong and counted.keys() == sums.keys(), f"counters: {wrong or counted.keys() ^ sums.keys()}"
    return len(wanted)
