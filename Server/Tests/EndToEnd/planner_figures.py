# This source file is part of the Optimist open source project, under the MIT licence.
"""How long an offline write takes until it is durable and until it is on the screen.

Each figure is compared with this machine's minimum, measured alternately with the writes: appending 4 KB and syncing. A
busy machine is slow at that as well, so three runs are tried, and the part of the minimum above a millisecond does not
count against the writes. A machine may still be too slow through no fault of the code, so this runs only in `make
soak`.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims, Skip  # noqa: E402
from form import SOAK  # noqa: E402
from lab import Lab  # noqa: E402

WRITES = 200
LIMIT_MS = 10
claims = Claims()


class Figures:
    """Median, 99th percentile and maximum of the writes' times in milliseconds."""

    def __init__(self, milliseconds):
        ordered = sorted(milliseconds)
        self.p50, self.p99, self.max = statistics.median(ordered), ordered[WRITES * 99 // 100 - 1], ordered[-1]

    def __str__(self):
        return f"p50 {self.p50:.2f} p99 {self.p99:.2f} max {self.max:.2f} ms"


def sync_milliseconds(file):
    started = time.perf_counter()
    file.write(bytes(4096))
    os.fsync(file.fileno())
    return (time.perf_counter() - started) * 1000


@claims
def writes_are_fast(lab):
    """With the network cut, 99 of 100 writes are durable and shown in < 10 ms, without a busy disk."""
    if not SOAK:
        raise Skip("it measures time: make soak")
    for _ in range(3):
        [phone] = lab.add_phones(1)
        phone.network("offline")
        answers, syncs = [], []
        with tempfile.TemporaryFile(buffering=0) as file:
            for number in range(WRITES):
                answers.append(phone.call("POST", "todos", {"content": f"Write {number}"}))
                syncs.append(sync_milliseconds(file))
        assert phone.device["pending"] == WRITES
        local, shown = (Figures(answer[name] for answer in answers) for name in ("localMs", "shownMs"))
        floor = Figures(syncs)
        limit = LIMIT_MS + max(0, floor.p99 - 1)
        print(f"      localMs {local} · shownMs {shown} · floor {floor} · limit {limit:.1f} ms", flush=True)
        if max(local.p99, shown.p99) < limit:
            return
    raise AssertionError("too slow in every run")


if __name__ == "__main__":
    claims.run(Lab(sys.argv[1].rstrip("/")))
