# This source file is part of the Optimist open source project, under the MIT licence.
"""The lab's control API for tests."""

import http.client
import json
import socket
import threading
import uuid
from dataclasses import dataclass
from urllib.parse import urlsplit

from program import PATIENCE, Program, eventually


class Refused(Exception):
    """An unsuccessful answer."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body}")
        self.status, self.body = status, body


class Lab:
    def __init__(self, address):
        self.host = urlsplit(address).netloc

    def call(self, method, path, body=None, seconds=PATIENCE):
        """Calls the control API. `body` is JSON, or raw bytes. Returns the answer's JSON, or None if it is empty."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.host, timeout=seconds)
        try:
            connection.request(method, f"/lab/{path}", data, {"Content-Type": "application/json"} if data else {})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise Refused(answer.status, json.loads(text) if text.startswith(b"{") else text)
        return json.loads(text) if text else None

    def phone(self, name):
        return Phone(self, name)

    def add_phones(self, count=2):
        """New phones of a new account, without rows of earlier tests."""
        account = f"e2e-{uuid.uuid4().hex[:8]}"
        for number in range(count):
            self.call("POST", "devices", {"name": f"{account}-{number}", "account": account})
        return [self.phone(f"{account}-{number}") for number in range(count)]

    def server(self, account="planner"):
        return self.call("GET", f"server/todos?account={account}")


@dataclass
class Phone:
    lab: Lab
    name: str

    def call(self, method, path="", body=None):
        return self.lab.call(method, f"devices/{self.name}/{path}", body)

    # A person's actions.

    def add(self, content, **columns):
        return self.call("POST", "todos", {"content": content, **columns})["todo"]

    def edit(self, row, **columns):
        return self.call("PATCH", f"todos/{row}", columns)["todo"]

    def delete(self, row):
        self.call("DELETE", f"todos/{row}")

    def network(self, profile, **more):
        return self.call("PUT", "network", {"profile": profile, **more})

    # What a person and the page see.

    @property
    def todos(self):
        return self.call("GET", "todos")

    @property
    def device(self):
        return next(device for device in self.lab.call("GET", "devices") if device["name"] == self.name)

    @property
    def outbox(self):
        return self.call("GET", "outbox")

    @property
    def rejections(self):
        return self.call("GET", "rejections")

    @property
    def session(self):
        return self.call("GET", "session")

    @property
    def server(self):
        return self.lab.server(self.device["account"])

    def held(self, row):
        """The server's version of a row, or None."""
        return next((held for held in self.server if held["id"] == row), None)

    def shown(self, row):
        """This phone's version of a row, or None."""
        return next((shown for shown in self.todos if shown["id"] == row), None)

    def until_sent(self):
        """Waits until nothing is pending."""
        eventually(lambda: f"{self.name} still has {self.outbox}, {self.device}", lambda: self.outbox == [])

    def until_shows(self, row, **columns):
        """Waits until the row is on the screen, synced, with these columns."""
        wanted = {"sync": "synced", **columns}
        eventually(
            lambda: f"{self.name} shows {wanted} of {row}, but {self.shown(row)}",
            lambda: (shown := self.shown(row)) and all(shown[name] == value for name, value in wanted.items()),
        )

    def until_gone(self, row):
        eventually(lambda: f"{row} is gone from {self.name}", lambda: self.shown(row) is None)

    def follow(self):
        """A context that records the phone's timeline."""
        return Timeline(self.lab.host, self.name)

    def sequence(self):
        """The number of a new transaction. The difference of two such numbers counts the server's transactions."""
        row = self.add(f"marker {uuid.uuid4()}")["id"]
        self.until_sent()
        return self.held(row)["seq"]


def shared(row):
    """The columns of a row without its sync state: equal when everything has arrived."""
    return {name: row.get(name) for name in ("id", "content", "date", "priority", "done", "alarm")}


def launch_lab(folder, *options):
    """Starts a separate lab, without waiting for it."""
    return Program("lab", "--port", "0", "--data", folder, *options)


def run_lab(folder, *options):
    """Starts a separate lab. Returns the program and the lab once it answers."""
    program = launch_lab(folder, *options)
    return program, Lab(program.find(r"The lab is at (http://127\.0\.0\.1:\d+)"))


def refused(status, code, call, *arguments, **more):
    """Calls, and asserts that the answer is this error with a message for people."""
    try:
        answer = call(*arguments, **more)
    except Refused as refusal:
        got = refusal.status, refusal.body.get("code")
        assert got == (status, code), f"{got}, not {(status, code)}: {refusal.body}"
        assert len(refusal.body["message"]) > 8, refusal.body
        return refusal.body["message"]
    raise AssertionError(f"not refused: {answer}")


def pair(lab):
    """Two phones of a new account that have each other's rows."""
    a, b = lab.add_phones()
    row = a.add("The first of all")["id"]
    b.until_shows(row)
    return a, b


class Timeline:
    """The events of a phone's stream during the context."""

    def __init__(self, host, phone):
        self.events = []
        self._connection = http.client.HTTPConnection(host, timeout=PATIENCE)
        self._connection.request("GET", f"/lab/devices/{phone}/events")
        self._answer = self._connection.getresponse()
        self._answer.readline()  # The greeting. Afterwards no event is missed.
        self._reader = threading.Thread(target=self._read, daemon=True)

    def _read(self):
        kind = None
        try:
            for line in self._answer:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data" and kind == "timeline":
                    self.events.append(json.loads(value))
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass  # Closed below.

    def __enter__(self):
        self._reader.start()
        return self

    def __exit__(self, *_):
        self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        self._connection.close()
