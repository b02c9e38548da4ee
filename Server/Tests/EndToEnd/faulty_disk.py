# This source file is part of the Optimist open source project, under the MIT licence.
"""Failing disks, simulated by a small library, `faulty_disk.c`, that a process is started with."""

import functools
import platform
import re
import shutil
import sqlite3
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from claims import Skip

SOURCE = Path(__file__).with_suffix(".c")


@functools.cache
def library():
    """The library, built into a temporary folder for the duration of the test."""
    if platform.system() != "Linux":
        raise Skip("disks fail on Linux only")
    compiler = shutil.which("clang") or shutil.which("cc")
    if not compiler:
        raise Skip("there is no C compiler")
    folder = tempfile.TemporaryDirectory()
    library.folder = folder  # Removed when Python ends.
    path = f"{folder.name}/faulty_disk.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", path, SOURCE, "-ldl"], check=True)
    return path


@dataclass
class Fault:
    """A fault of the `first` to the `last` call of the kinds that `calls` names (w, s, t)."""

    kind: str  # kill, tear, or the name of an error
    calls: str
    first: int = 1
    last: int = 1 << 40
    while_exists: Path = None

    ERRORS = {"EIO": "5", "ENOSPC": "28"}

    @property
    def environment(self):
        return {
            "DISK_FAULT": self.ERRORS.get(self.kind, self.kind), "DISK_CALLS": self.calls,
            "DISK_FIRST": str(self.first), "DISK_LAST": str(self.last),
            **({"DISK_WHILE": str(self.while_exists)} if self.while_exists else {}),
        }


def around(database, fault=None, record=None):
    """The environment that gives a process such a disk under this database."""
    return {
        "LD_PRELOAD": library(), "DISK_FILE": str(Path(database).resolve()), **(fault.environment if fault else {}),
        **({"DISK_RECORD": str(record)} if record else {}),
    }


@dataclass
class Call:
    """A call as recorded: w(rite), s(ync), t(runcate), u(nlink); or a(cknowledged), which a test adds."""

    kind: str
    part: str
    at: int
    bytes: bytes


HEAD = re.compile(rb"([wstua]) (\S+) (\d+) (\d+)\n")


def recorded(file):
    content, calls, at = Path(file).read_bytes(), [], 0
    while head := HEAD.match(content, at):
        kind, part, offset, length = head.groups()
        at = head.end() + int(length)
        calls.append(Call(kind.decode(), "" if part == b"-" else part.decode(), int(offset), content[head.end():at]))
    assert at == len(content), f"{file} is damaged at {at}"
    return calls


class Acknowledgements:
    """Adds the moment of a write's acknowledgement to a record."""

    def __init__(self, file):
        self._file = open(file, "ab", buffering=0)

    def __call__(self, number, text):
        text = text.encode()
        self._file.write(b"a - %d %d\n" % (number, len(text)) + text)


def put(content, call):
    """Applies a write or a truncation to the content of a file."""
    if call.kind == "t":
        del content[call.at:]
    content.extend(bytes(max(0, call.at - len(content))))
    content[call.at:call.at + len(call.bytes)] = call.bytes


SECTOR = 512


def after_power_loss(calls, chance, keeps_syncs=True):
    """The files after a power loss at the end of these calls.

    Synced bytes are kept. Each later write is kept, lost, or torn at a sector.
    """
    durable, waiting = {}, {}
    for call in calls:
        if call.kind in "wt":
            waiting.setdefault(call.part, []).append(call)
        elif call.kind == "s" and keeps_syncs:
            for earlier in waiting.pop(call.part, []):
                put(durable.setdefault(call.part, bytearray()), earlier)
        elif call.kind == "u":
            durable.pop(call.part, None)
            waiting.pop(call.part, None)
    for part, rest in waiting.items():
        content = durable.setdefault(part, bytearray())
        for call in rest:
            fate = chance.choice(["there", "there", "torn", "lost", "lost"])
            if fate == "torn" and call.kind == "w":
                call = Call("w", part, call.at, call.bytes[:SECTOR * chance.randrange(len(call.bytes) // SECTOR + 1)])
            if fate != "lost" and (call.kind == "t" or call.bytes):
                put(content, call)
    return durable


class Copy:
    """A copy of a dead process's database: a context manager that returns a connection."""

    def __init__(self, database):
        self.database = Path(database)

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        copy = Path(self._folder.name, "copy")
        for part in ("", "-wal", "-journal"):
            original = Path(f"{self.database}{part}")
            if original.exists():
                shutil.copyfile(original, f"{copy}{part}")
        self._connection = sqlite3.connect(copy)
        return self._connection

    def __exit__(self, *_):
        self._connection.close()
        self._folder.cleanup()


def check_integrity(database):
    """Asserts that SQLite finds no damage in a dead process's database."""
    if not Path(database).exists():
        return
    with Copy(database) as connection:
        [[found]] = connection.execute("PRAGMA integrity_check(1)").fetchall()
        assert found == "ok", f"{database}: {found}"
