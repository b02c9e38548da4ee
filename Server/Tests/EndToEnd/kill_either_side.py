# This source file is part of the Optimist open source project, under the MIT licence.
"""Kills phones and the server, each a separate process: at random moments, and at the n-th change of their files.

Random kills: 20, in a soak 500, in short 4. Changes of each kind: two, in a soak all, in short one.
OPTIMIST_SEED repeats the draws of an earlier run, though not their exact moments.
"""

import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from faulty_disk import Fault, around, check_integrity, recorded  # noqa: E402
from form import SOAK, form  # noqa: E402
from phones import Gone, Phone, Server, settle  # noqa: E402
from program import eventually  # noqa: E402

KILLS = form(4, 20, 500)
SAMPLE = form(1, 2, 2)
SEED = int(os.environ.get("OPTIMIST_SEED") or random.SystemRandom().randrange(1 << 32))
claims = Claims()


class Round:
    """Two phones write until some of the three processes have been killed, and perhaps killed again as they start."""

    def __init__(self, chance, server, phones):
        self.server, self.phones = server, phones
        what = chance.choice(["phone", "server", "both"])
        self.victims = [chance.choice(phones)] * (what != "server") + [server] * (what != "phone")
        self.seconds = chance.uniform(0, 0.5)
        self.launch_seconds = chance.uniform(0, 0.5) if chance.random() < 0.2 else None
        self.kills = Counter()
        self.acknowledged = 0
        self.problems = []

    def play(self):
        enough = threading.Event()
        self.writers = {phone: threading.Thread(target=self.write, args=(phone, enough)) for phone in self.phones}
        for writer in self.writers.values():
            writer.start()
        eventually("a write is acknowledged", lambda: self.acknowledged or self.problems)
        time.sleep(self.seconds)  # A random moment, not a wait for a condition.
        self.kill()
        if self.launch_seconds is not None:
            self.start()
            time.sleep(self.launch_seconds)  # As above.
            self.kill()
        enough.set()
        for writer in self.writers.values():
            writer.join()
        assert not self.problems, self.problems
        for victim in self.victims:
            check_integrity(victim.database)
        self.start()
        for victim in self.victims:
            if victim is not self.server:
                victim.until_open()
        self.server.until_up()
        settle(self.server, self.phones)

    def kill(self):
        for victim in self.victims:
            victim.kill()
            if victim in self.writers:
                self.writers[victim].join()
            self.kills["server" if victim is self.server else "phone"] += 1

    def start(self):
        for victim in self.victims:
            victim.start()

    def write(self, phone, enough):
        try:
            while not enough.is_set():
                assert phone.write(), "a write failed"
                self.acknowledged += 1
        except Gone:
            pass  # Killed, as intended. The write in flight stays unanswered.
        except Exception as problem:
            self.problems.append(problem)


@claims
def random_kills(folder):
    """W1 S3 S6 whichever side is killed, acknowledged writes are everywhere, once and complete, and sync continues."""
    print(f"      seed {SEED}", flush=True)
    chance, totals = random.Random(SEED), Counter()
    with (
        Server(folder / "server") as server,
        Phone(folder / "a", server, SEED) as a, Phone(folder / "b", server, SEED + 1) as b,
    ):
        for phone in (a, b):
            phone.until_open()
        server.until_up()
        while sum(totals[side] for side in ("phone", "server")) < KILLS:
            round = Round(chance, server, [a, b])
            round.play()
            totals += round.kills
            totals["acknowledged writes"] += round.acknowledged
    print("      " + ", ".join(f"{count} {what}" for what, count in totals.items()), flush=True)
    assert totals["acknowledged writes"] >= KILLS, "hardly anything was written between the kills"


WRITES = 3


def phone_dies(folder, fault, record=None):
    """A new phone dies by the fault, and its next launch continues. Returns whether the fault occurred."""
    folder.mkdir()
    disk = around(folder / "phone/planner.sqlite", fault, record)
    with Server(folder / "server") as server:
        server.until_up()
        with Phone(folder / "phone", server, environment=disk) as phone:
            has_died = False
            try:
                phone.until_open()
                for _ in range(WRITES):
                    phone.write()
                    phone.until_sent()
            except Gone:
                has_died = True
            phone.kill()
            check_integrity(phone.database)
            phone.start()
            phone.until_open()
            phone.write()
            settle(server, [phone])
            return has_died


def server_dies(folder, fault, record=None):
    """A new server dies by the fault, and its next start continues with the same phone. Returns whether the fault
    occurred."""
    folder.mkdir()
    with Server(folder / "server", around(folder / "server/optimist.sqlite", fault, record)) as server:
        with Phone(folder / "phone", server) as phone:
            phone.until_open()
            for _ in range(WRITES):
                phone.write()
                eventually("sent, or the server is gone", lambda: phone.has_sent or not server.program.is_running)
            has_died = not server.program.is_running
            server.kill()
            check_integrity(server.database)
            server.start()
            server.until_up()
            phone.write()
            settle(server, [phone])
            return has_died


def at_every_change(folder, scenario):
    """Plays a scenario once for each write and each sync that it makes, or for a sample of them."""
    folder.mkdir()
    record, chance = folder / "record", random.Random(SEED)
    deaths = played = 0
    scenario(folder / "whole", None, record)
    counts = Counter(call.kind for call in recorded(record))
    for kind, calls in (("kill", "w"), ("tear", "w"), ("kill", "s")):
        # A run may make fewer calls than the first one, so a sample is drawn from the first half.
        every, half = range(1, counts[calls] + 1), range(1, counts[calls] // 2 + 1)
        for n in every if SOAK else sorted(chance.sample(half, SAMPLE)):
            try:
                deaths += scenario(folder / f"{kind}-{calls}-{n}", Fault(kind, calls, n, n))
            except Exception as problem:
                raise AssertionError(f"{kind} at {calls} {n}, seed {SEED}") from problem
            played += 1
    print(f"      {deaths} deaths in {played} runs of {counts['w']} writes and {counts['s']} syncs", flush=True)
    # A soak may not reach the last faults.
    assert deaths >= played * 0.7, "too few faults were reached"


@claims
def phone_dies_at_every_change(folder):
    """W1 S3 a phone that dies at or during the n-th write or sync of its file loses nothing acknowledged."""
    at_every_change(folder / "phones", phone_dies)


@claims
def server_dies_at_every_change(folder):
    """S3 S5 a server that dies at or during the n-th write or sync of its file loses nothing acknowledged."""
    at_every_change(folder / "servers", server_dies)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
