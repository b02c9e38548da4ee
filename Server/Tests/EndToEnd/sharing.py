# This source file is part of the Optimist open source project, under the MIT licence.
"""Two people share lists through a server, each on a device in its own process."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from phones import Server, email  # noqa: E402
from program import OPTIMIST, eventually  # noqa: E402

SCHEMA = {
    "id": "lists", "version": 1,
    "types": {
        "list": {
            "@space": {"column": "space"},
            "title": {"type": "string", "required": True},
            "space": {"type": "ref"},
        }
    },
}
claims = Claims()


class Device:
    """A `SharingProcess`."""

    def __init__(self, folder, address, person):
        self._process = subprocess.Popen(
            [Path(OPTIMIST).with_name("SharingProcess"), folder / person, address, email(person)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._read() == "open"

    def _read(self):
        word, _, value = self._process.stdout.readline().rstrip("\n").partition(" ")
        assert word == "done", f"{word} {value}"
        return value

    def __call__(self, *words):
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()
        return self._read()

    def lists(self):
        return json.loads(self("lists"))

    def end(self):
        self._process.stdin.close()
        self._process.wait(20)


class Home:
    """A server, and the devices of two people."""

    def __init__(self, folder):
        schema = folder / "schema.json"
        schema.write_text(json.dumps(SCHEMA))
        self.server = Server(folder / "data", {"OPTIMIST_SCHEMA": str(schema)})
        self.server.until_up()
        self.ann, self.bob = (Device(folder, self.server.address, person) for person in ("ann", "bob"))
        self.space = None

    def end(self):
        for device in (self.ann, self.bob):
            device.end()
        self.server.program.terminate()


@claims
def joining(home):
    """P1 P4 P9 a person joins by a link, and a list that its owner shares appears on the other device."""
    ann, bob = home.ann, home.bob
    space = home.space = ann("found", "Home")
    food = ann("add", "Food")
    assert bob("accept", ann("invite", space, "writer")) == space
    eventually(lambda: bob("role", space), lambda: bob("role", space) == "writer")
    ann("move", food, space)
    eventually(lambda: bob.lists(), lambda: bob.lists() == {space: ["Food"]})
    bob("rename", food, "Groceries")
    eventually(lambda: ann.lists(), lambda: ann.lists() == {space: ["Groceries"]})


@claims
def removal(home):
    """P8 a removed person's device loses the lists."""
    ann, bob = home.ann, home.bob
    assert ann("remove", home.space) == "1"
    eventually(lambda: bob.lists(), lambda: bob.lists() == {})
    assert ann.lists() == {home.space: ["Groceries"]}
    for device in (ann, bob):
        eventually(lambda: device("status"), lambda: device("status") == "0 0")


with tempfile.TemporaryDirectory() as folder:
    home = Home(Path(folder))
    try:
        claims.run(home)
    finally:
        home.end()
