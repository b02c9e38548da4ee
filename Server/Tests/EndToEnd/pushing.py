# This source file is part of the Optimist open source project, under the MIT licence.
"""Devices in Python that push batches of to-dos as fast as the server accepts them, and a check that a backup has their
pushes."""

import http.client
import threading
import time
import uuid
from dataclasses import dataclass

from phones import email
from program import eventually
from writers import USING, ask, enter

PUSHERS = 4
BATCH = 250


@dataclass
class Push:
    """An acknowledged push: its rows by their ids, and when it was sent and acknowledged."""

    rows: dict
    sent: float
    acknowledged: float


class Device:
    """A device of a new account, which calls one method at a time."""

    def __init__(self, port, address, name):
        self.grant = enter(port, "sign-up", address, name)
        self.account = self.grant["account_id"]
        self._port, self._id = port, uuid.uuid4().hex

    def new_rows(self, contents, **columns):
        """New to-dos of these contents, by id, as a method call takes them."""
        clock = f"{int(time.time() * 1000) << 16:016x}-{self._id}"
        return {str(uuid.uuid4()): {"content": content, **columns, "@hlc": clock} for content in contents}

    def ask(self, push, method, patience, **arguments):
        """Returns the status of the answer to the push of this number, and the answer."""
        call = [method, {"accountId": self.account, **arguments}, "0"]
        return ask(
            self._port, "POST", "/jmap/",
            {"using": USING, "device": self._id, "push": push, "methodCalls": [call]},
            self.grant["access_token"], patience=patience)


class Pusher(threading.Thread):
    """Pushes batches to its own account until it is stopped. An unanswered push is repeated."""

    def __init__(self, port, account, batch=BATCH):
        super().__init__(daemon=True)
        self.account, self._batch = account, batch
        self._device = Device(port, email(account), "pusher")
        self.grant = self._device.grant
        self.pushes, self._problem = [], None
        self._enough = threading.Event()

    @property
    def rows(self):
        """All acknowledged rows, by id."""
        return {row: content for push in self.pushes for row, content in push.rows.items()}

    def run(self):
        try:
            while not self._enough.is_set():
                self._push(len(self.pushes) + 1)
        except Exception as problem:
            self._problem = problem

    def stop(self):
        """Returns when the last push is acknowledged."""
        self._enough.set()
        self.join()
        self.check()

    def check(self):
        if self._problem:
            raise self._problem

    def _push(self, number):
        created = self._device.new_rows(
            [f"{self.account}-{number}-{place}" for place in range(self._batch)], priority=number)
        rows = {row: columns["content"] for row, columns in created.items()}
        sent = time.monotonic()

        def is_stored():
            try:
                status, answer = self._device.ask(number, "todo/set", patience=60, create=created)
            except (OSError, http.client.HTTPException):
                return False
            assert status in (200, 503), (status, answer)
            if status == 200:
                [[name, stored, _]] = answer["methodResponses"]
                assert name == "todo/set" and not stored.get("notCreated"), (name, stored)
                assert len(stored["created"]) == len(rows), stored
            return status == 200

        eventually(f"push {number} of {self.account}", is_stored)
        self.pushes.append(Push(rows, sent, time.monotonic()))


class Load:
    """Devices that push concurrently, each to its account, within a `with` block."""

    def __init__(self, server):
        self.pushers = [Pusher(server.port, f"pusher-{number}") for number in range(PUSHERS)]

    def __enter__(self):
        self._begun = time.monotonic()
        for pusher in self.pushers:
            pusher.start()
        return self

    def __exit__(self, *_):
        for pusher in self.pushers:
            pusher.stop()
        self._ended = time.monotonic()

    @property
    def count(self):
        """The number of acknowledged rows."""
        for pusher in self.pushers:
            pusher.check()
        return sum(len(pusher.pushes) for pusher in self.pushers) * BATCH

    @property
    def rate(self):
        """The acknowledged rows per second, after the block."""
        return self.count / (self._ended - self._begun)

    def judge(self, held, begun, ended):
        """Asserts that a backup has each push completely or not at all: all that were acknowledged before it began,
        none that was sent after its end. `held` has its rows by account and id. Returns the number of those rows."""
        for pusher in self.pushers:
            mine = held[pusher.grant["account_id"]]
            for push in pusher.pushes:
                found = sum(mine.get(row) == content for row, content in push.rows.items())
                assert found in (0, BATCH), f"{found} of the {BATCH} rows of a push"
                assert found or push.acknowledged > begun, "an acknowledged push is missing"
                assert not found or push.sent < ended, "a push of a later time"
            assert not mine.keys() - pusher.rows.keys(), "rows that nobody pushed"
        return sum(len(rows) for rows in held.values())
