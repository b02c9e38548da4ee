# This source file is part of the Optimist open source project, under the MIT licence.
"""Disks of phones and of the server that report errors: acknowledged data stays, the status reports it, and sync
recovers.

One call of each kind fails; in a soak, every call fails in turn. OPTIMIST_SEED repeats the draws.
"""

import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from faulty_disk import Fault, around, check_integrity, recorded  # noqa: E402
from form import SOAK, form  # noqa: E402
from phones import Gone, Phone, Server, settle  # noqa: E402
from program import eventually  # noqa: E402

SAMPLE = 1
SEED = int(os.environ.get("OPTIMIST_SEED") or random.SystemRandom().randrange(1 << 32))
claims = Claims()


def troubles(folder, database):
    """For each error, in every call or in syncs only: a folder, a file, and a disk that fails while the file exists."""
    every = [(error, calls) for error in Fault.ERRORS for calls in ("s", "wst")]
    for error, calls in every if SOAK else [("EIO", "s"), ("ENOSPC", "wst")]:
        case = folder / f"{error}-{calls}"
        case.mkdir(parents=True)
        trouble = case / "trouble"
        yield case, trouble, around(case / database, Fault(error, calls, while_exists=trouble))


@claims
def phone_in_trouble(folder):
    """V4 while a phone's disk fails, writes fail or stay, the status names it, and sync resumes afterwards."""
    for case, trouble, disk in troubles(folder / "phones in trouble", "phone/planner.sqlite"):
        with (
            Server(case / "server") as server,
            Phone(case / "phone", server, environment=disk) as phone, Phone(case / "other", server) as other,
        ):
            for each in (phone, other):
                each.until_open()
            phone.writes(3)
            settle(server, [phone, other])
            trouble.touch()
            assert phone.writes(3) == 0, "a write was acknowledged that is on no disk"
            other.writes(3)
            phone.until_says("deviceTrouble")
            trouble.unlink()
            settle(server, [phone, other])
            phone.until_says("idle")
            assert phone.writes(3) == 3, "writes still fail"
            settle(server, [phone, other])


@claims
def server_in_trouble(folder):
    """S5 a server with a failing disk answers 503, phones keep their rows, and everything recovers."""
    for case, trouble, disk in troubles(folder / "servers in trouble", "server/optimist.sqlite"):
        with Server(case / "server", disk) as server, Phone(case / "phone", server) as phone:
            phone.until_open()
            phone.writes(3)
            settle(server, [phone])
            trouble.touch()
            assert phone.writes(3) == 3, "the server's disk affects a phone's writes"
            status, head, text = server.call("todo/set", create={"k": {"content": "never", "priority": 1}})
            assert status == 503, (status, text)
            assert head["Content-Type"] == "application/problem+json" and head["Retry-After"], (head, text)
            phone.until_says("offline")
            assert not phone.has_sent
            trouble.unlink()
            settle(server, [phone])


WRITES = 3


def phone_meets(folder, fault, record=None):
    """A new phone whose n-th call fails, counted from the creation of its file."""
    folder.mkdir()
    disk = around(folder / "phone/planner.sqlite", fault, record)
    with Server(folder / "server") as server, Phone(folder / "phone", server, environment=disk) as phone:
        try:
            phone.until_open()
        except Gone:
            # The phone reports the error and ends, like an app that cannot open its data. The next launch works.
            phone.until_gone()
            check_integrity(phone.database)
            phone.start()
            phone.until_open()
        for _ in range(WRITES):
            phone.write()
            phone.until_sent()
        settle(server, [phone])
        phone.kill()
        check_integrity(phone.database)


def server_meets(folder, fault, record=None):
    """A new server whose n-th call fails, counted from the creation of its file."""
    folder.mkdir()
    disk = around(folder / "server/optimist.sqlite", fault, record)
    with Server(folder / "server", disk) as server, Phone(folder / "phone", server) as phone:
        phone.until_open()
        eventually("up, or gone", lambda: server.is_up() or not server.program.is_running)
        if not server.program.is_running:
            assert "optimist serve: " in server.program.said, server.program.said
            server.start()
            server.until_up()
        for _ in range(WRITES):
            phone.write()
            phone.until_sent()
        settle(server, [phone])
        server.kill()
        check_integrity(server.database)


def at_every_call(folder, scenario):
    """Plays a scenario once for each call and error, or for a sample of them."""
    folder.mkdir()
    record, chance, played = folder / "record", random.Random(SEED), 0
    scenario(folder / "whole", None, record)
    counts = Counter(call.kind for call in recorded(record))
    assert all(counts[calls] for calls in "ws"), f"the whole run made {dict(counts)}"
    for error in Fault.ERRORS:
        for calls in form(chance.choice("wst"), "wst", "wst"):
            moments = range(1, counts[calls] + 1)
            for n in moments if SOAK else sorted(chance.sample(moments, min(SAMPLE, len(moments)))):
                try:
                    scenario(folder / f"{error}-{calls}-{n}", Fault(error, calls, n, n))
                except Exception as problem:
                    raise AssertionError(f"{error} at {calls} {n}, seed {SEED}") from problem
                played += 1
    print(f"      {played} errors, among {dict(counts)}", flush=True)


@claims
def phone_meets_an_error(folder):
    """V4 W1 a phone recovers from one disk error at any call without losing acknowledged writes."""
    at_every_call(folder / "phones", phone_meets)


@claims
def server_meets_an_error(folder):
    """S3 S5 the server recovers from one disk error at any call without losing acknowledged writes."""
    at_every_call(folder / "servers", server_meets)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
