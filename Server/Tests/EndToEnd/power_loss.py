# This source file is part of the Optimist open source project, under the MIT licence.
"""Power losses on real files: records the calls of a phone and a server, and rebuilds possible disks.

40 losses on either side, 400 in a soak and 8 in short. OPTIMIST_SEED repeats the draws.
"""

import os
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from faulty_disk import Acknowledgements, after_power_loss, around, recorded  # noqa: E402
from form import form  # noqa: E402
from phones import Pair, Phone, Server, settle  # noqa: E402

POINTS = form(8, 40, 400)
WRITES = 120
SEED = int(os.environ.get("OPTIMIST_SEED") or random.SystemRandom().randrange(1 << 32))
claims = Claims()


def rebuild(folder, files):
    """Writes a rebuilt disk's files into a folder, and opens the database as a connection."""
    folder.mkdir()
    for part, content in files.items():
        Path(f"{folder}/disk.sqlite{part}").write_bytes(content)
    return closing(sqlite3.connect(folder / "disk.sqlite"))


class Loss:
    """A power loss at a random moment of a record: the acknowledged writes, and the possible files afterwards."""

    def __init__(self, calls, chance, keeps_syncs=True):
        first = next(at for at, call in enumerate(calls) if call.kind == "a")
        calls = calls[:chance.randrange(first, len(calls)) + 1]
        self.acknowledged = {call.bytes.decode(): call.at for call in calls if call.kind == "a"}
        self.files = after_power_loss(calls, chance, keeps_syncs)

    def put(self, database):
        """Writes the files in the database's place."""
        database.parent.mkdir(parents=True)
        for part, content in self.files.items():
            Path(f"{database}{part}").write_bytes(content)


def losses(folder, calls, read, keeps_syncs=True):
    """Rebuilds the disk at many points. Counts how often an acknowledged write was lost, and how often not.

    `read` returns the number of each label in a database. Any other fault is raised, unless the disk ignored the syncs.
    """
    chance, outcomes = random.Random(SEED), Counter()
    for point in range(POINTS):
        loss = Loss(calls, chance, keeps_syncs)
        file = folder / f"{point}/disk.sqlite"
        loss.put(file)
        with closing(sqlite3.connect(file)) as database:
            try:
                [[found]] = database.execute("PRAGMA integrity_check(1)").fetchall()
                assert found == "ok", f"point {point}, seed {SEED}: {found}"
                numbers = read(database)
            except sqlite3.DatabaseError as problem:
                if keeps_syncs and "no such table" not in str(problem):
                    raise
                numbers = {}
        shutil.rmtree(file.parent)
        lost = {label for label, number in loss.acknowledged.items() if numbers.get(label, 0) < number}
        outcomes["lost" if lost else "kept"] += 1
    return outcomes


def whole(rows):
    """The number of each pair, whose halves must be equal."""
    found = {}
    for label, number in rows:
        found.setdefault(label, []).append(number)
    for label, numbers in found.items():
        assert len(numbers) == 2 and len(set(numbers)) == 1, f"{label} is half or double: {numbers}"
    return {label: numbers[0] for label, numbers in found.items()}


def record_phone(folder, durability):
    """Records a phone's file calls while it writes, syncing half of the time. Also returns what the server received."""
    folder.mkdir()
    record = folder / "record"
    acknowledge = Acknowledgements(record)
    disk = around(folder / "phone/planner.sqlite", record=record)
    with (
        Server(folder / "server") as server,
        Phone(folder / "phone", server, SEED, environment=disk, durability=durability) as phone,
    ):
        phone.until_open()
        server.until_up()
        for number in range(WRITES):
            if number == WRITES // 2:
                settle(server, [phone])
                arrived = whole(row[1:] for row in server.rows())
                server.kill()
            label = phone.any_label()
            assert phone.write(label)
            acknowledge(phone.last, label)
        phone.kill()
    return recorded(record), arrived


def read_phone(arrived):
    """Reads a phone's rows, and asserts that rows which the server cannot have are pending."""

    def read(database):
        rows = database.execute(
            "SELECT content, priority, (SELECT count(*) FROM optimist_edit e WHERE e.id = t.id) FROM todo t"
        ).fetchall()
        for label, number, pending in rows:
            assert number <= arrived.get(label, 0) or pending, f"W1 {label} {number} would never be sent"
        return whole(row[:2] for row in rows)

    return read


@claims
def phone_loses_power(folder):
    """W1 a power loss takes no acknowledged write from a phone, and leaves no partial write."""
    calls, arrived = record_phone(folder / "full", "full")
    outcomes = losses(folder / "full", calls, read_phone(arrived))
    syncs = sum(call.kind == "s" for call in calls)
    print(f"      seed {SEED}, {WRITES} writes, {len(calls)} calls, {syncs} syncs: {dict(outcomes)}", flush=True)
    assert not outcomes["lost"], outcomes


@claims
def phone_goes_on(folder):
    """W1 L3 after a power loss a phone opens its file and sends every row, whatever the server had received."""
    calls, _ = record_phone(folder / "launched", "full")
    chance = random.Random(SEED)
    with Server(folder / "launched/server") as server:
        server.until_up()
        for launch in range(POINTS // 20):
            home = folder / f"launched/phone-{launch}"
            loss = Loss(calls, chance)
            loss.put(home / "planner.sqlite")
            shutil.copytree(folder / "launched/phone/credentials", home / "credentials")
            with Phone(home, server) as phone:
                phone.until_open()
                for label in {call.bytes.decode() for call in calls if call.kind == "a"}:
                    number = loss.acknowledged.get(label)
                    phone.pairs[label] = Pair(number, list(range((number or 0) + 1, WRITES + 1)))
                settle(server, [phone])


@claims
def normal_loses(folder):
    """W1 in the mode `.normal`, power losses take acknowledged writes, so the claim above can fail; none is partial."""
    calls, arrived = record_phone(folder / "normal", "normal")
    outcomes = losses(folder / "normal", calls, read_phone(arrived))
    print(f"      {sum(call.kind == 's' for call in calls)} syncs: {dict(outcomes)}", flush=True)
    assert outcomes["lost"], outcomes


@claims
def server_loses_power(folder):
    """S3 a power loss takes no acknowledged write from the server, but would if the server did not sync."""
    (home := folder / "server").mkdir()
    record = home / "record"
    acknowledge = Acknowledgements(record)
    with (
        Server(home / "data", around(home / "data/optimist.sqlite", record=record)) as server,
        Phone(home / "phone", server, SEED) as phone,
    ):
        server.until_up()
        phone.until_open()
        for number in range(WRITES):
            label = phone.any_label()
            assert phone.write(label)
            phone.until_sent()
            acknowledge(phone.last, label)
        server.kill()

    def read(database):
        return whole(database.execute(
            "SELECT json_extract(content, '$.content'), json_extract(content, '$.priority') FROM optimist_rows"))

    calls = recorded(record)
    (home / "synced").mkdir()
    outcomes = losses(home / "synced", calls, read)
    print(f"      {len(calls)} calls, {sum(call.kind == 's' for call in calls)} syncs: {dict(outcomes)}", flush=True)
    assert not outcomes["lost"], outcomes
    (home / "unsynced").mkdir()
    outcomes = losses(home / "unsynced", calls, read, keeps_syncs=False)
    assert outcomes["lost"], outcomes


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
