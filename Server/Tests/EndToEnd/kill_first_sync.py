# This source file is part of the Optimist open source project, under the MIT licence.
"""Kills a phone at random points of its first sync, which continues where it was.

20,000 rows and 5 kills; a million rows and 20 kills in a soak, 5,000 and 2 in short. OPTIMIST_SEED repeats the points
of an earlier run.
"""

import os
import random
import sqlite3
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from types import SimpleNamespace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from faulty_disk import check_integrity  # noqa: E402
from form import form  # noqa: E402
from phones import Phone, Server  # noqa: E402
from program import Program, eventually  # noqa: E402

ROWS, KILLS = form((5_000, 2), (20_000, 5), (1_000_000, 20))
# The phone's bandwidth in bytes per second. Without a limit, a few rows could all arrive before the first look. A
# million rows take long anyway.
BANDWIDTH = form(200_000, 400_000, 0)
# Filling a server and receiving everything takes a few minutes.
PATIENCE = 1_800
MEMORY = 150e6
SEED = int(os.environ.get("OPTIMIST_SEED") or random.SystemRandom().randrange(1 << 32))
claims = Claims()


def filled(phone):
    """Writes all rows on one phone, waits until the server has them, and returns them."""
    phone.until_open()
    phone.fill(ROWS, PATIENCE)
    eventually(lambda: phone.what("sent"), lambda: phone.has_sent, PATIENCE)
    phone.kill()
    return contents(phone)


def contents(phone):
    """All rows of a phone whose process has ended."""
    with closing(sqlite3.connect(phone.database)) as database:
        return database.execute("SELECT id, content, priority FROM todo ORDER BY id").fetchall()


def until_received(phone, rows):
    """Waits until this many rows have arrived, or all."""

    def is_here():
        received = phone.received
        return received is None or received >= rows

    eventually(lambda: phone.what(f"{rows} rows received"), is_here, PATIENCE)


@contextmanager
def slow_line(server):
    """The server behind a narrow network."""
    with Program("proxy", "--upstream", server.address.removeprefix("http://"), "--bandwidth", BANDWIDTH) as proxy:
        yield SimpleNamespace(address="http://" + proxy.find(r"(127\.0\.0\.1:\d+) →"))


@claims
def first_sync_is_killed(folder):
    """R6 a first sync that is killed at random points continues where it was and receives every row."""
    print(f"      seed {SEED}", flush=True)
    # The last rows may all have arrived before the first look.
    points = sorted(random.Random(SEED).sample(range(ROWS * 9 // 10), KILLS))
    with Server(folder / "server") as server:
        server.until_up()
        with Phone(folder / "full", server) as full:
            expected = filled(full)
        started, peak, reached = time.monotonic(), 0, []
        with slow_line(server) as line, Phone(folder / "new", line) as phone:
            phone.until_open()
            idle = phone.peak_memory
            for point in points:
                until_received(phone, point)
                before = phone.received
                peak = max(peak, phone.peak_memory or 0)
                phone.kill()
                check_integrity(phone.database)
                phone.start()
                phone.until_open()
                after = phone.received
                if before is None:
                    assert after is None, f"all was received, and now {after}"
                else:
                    assert after is None or after >= before, f"{before} rows received, and now {after}"
                    reached.append(before)
            eventually(lambda: phone.what("through"), lambda: phone.received is None, PATIENCE)
            seconds = time.monotonic() - started
            peak = max(peak, phone.peak_memory or 0)
            phone.kill()
            check_integrity(phone.database)
            assert contents(phone) == expected, "the phones are not equal"
    print(
        f"      {ROWS} rows in {seconds:.0f} s with {len(reached)} kills underway"
        + (f", {(peak - idle) / 1e6:.0f} MB beyond the launch at most" if idle else ""), flush=True)
    assert len(reached) >= KILLS * 0.7, f"of {KILLS} kills only {len(reached)} came before the end"
    assert not idle or peak - idle < MEMORY, f"{(peak - idle) / 1e6:.0f} MB"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
