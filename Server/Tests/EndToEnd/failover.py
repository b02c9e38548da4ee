# This source file is part of the Optimist open source project, under the MIT licence.
"""Kills and stops servers that share a PostgreSQL, and kills its primary, while phones and small devices in Python
write.

3 servers, and each primary has a standby. 6 phones, 50 in a soak. OPTIMIST_SEED repeats the draws of an earlier run,
though not their exact moments.
"""

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import clusters  # noqa: E402
from claims import Claims  # noqa: E402
from form import form  # noqa: E402
from program import eventually  # noqa: E402
from shared_site import Site  # noqa: E402

EVENTS = form(3, 20, 200)
FAILOVERS = form(1, 3, 20)
SEED = int(os.environ.get("OPTIMIST_SEED") or random.SystemRandom().randrange(1 << 32))
claims = Claims()


def disturb(site, totals):
    """Kills and restarts a server, or stops it for a few seconds."""
    server = site.chance.choice(site.servers)
    if site.chance.random() < 0.6:
        server.kill()
        time.sleep(site.chance.uniform(0, 0.5))  # A random moment, not a wait for a condition.
        server.start()
        totals["servers killed"] += 1
        # Otherwise it is killed again while it starts.
        if site.chance.random() < 0.8:
            server.program.find("Optimist (serves)")
    else:
        server.stop()
        try:
            time.sleep(site.chance.uniform(1, form(3, 5, 15)))  # As above.
        finally:
            server.go_on()
        totals["servers stopped"] += 1
    site.until_all_have_written(1)


@claims
def servers_die(folder):
    """N1 N9 S3 servers that share a database are killed and stopped: acknowledged rows and counts are stored once."""
    print(f"      seed {SEED}", flush=True)
    totals = Counter()
    with Site(folder / "servers", SEED, heals=False) as site:
        before = site.sessions(site.pair.primary)
        site.start_persons()
        while totals.total() < EVENTS:
            disturb(site, totals)
        for server in site.servers:
            server.program.find("Optimist (serves)")
        todos, seconds = site.settle()
        epochs = len(site.pair.primary.sql("SELECT name FROM optimist_epochs"))
        ended = before - site.sessions(site.pair.primary)
        print(f"      {totals['servers killed']} servers killed, {totals['servers stopped']} stopped; {todos} writes "
              f"acknowledged, 0 lost, 0 double; {site.counted('requests that were repeated')} requests repeated, "
              f"{site.counted('answers 503')} answers 503; {site.written_on_phones} writes on phones, all there "
              f"{seconds:.1f} s after the last", flush=True)
        assert epochs == 1, f"{epochs} epochs"
        assert not ended, f"{len(ended)} sessions ended"


class Failover:
    """The death of a primary, and the database's content before and after."""

    def __init__(self, site):
        self.site = site
        self.primary, self.standby = site.pair.primary, site.pair.standby

    def play(self, is_synchronous):
        site = self.site
        site.pair.set_synchronous(is_synchronous)
        begun = site.acknowledged
        site.start_persons()
        site.until_all_have_written()
        if not is_synchronous:
            self.write_what_the_standby_lacks()
        time.sleep(site.chance.uniform(0, 0.5))  # A random moment, not a wait for a condition.
        acknowledged = site.acknowledged
        self.acknowledged = acknowledged - begun
        self.sessions = site.sessions(self.primary)
        self.before = site.held(self.primary)
        self.epochs = self.epochs_in(self.primary)
        refusals = site.counted("answers 503"), site.counted("broken or silent connections")
        killed = time.monotonic()
        site.pair.fail_over()
        self.promoted_after = time.monotonic() - killed
        accepted = eventually("a write is accepted", self.accepted_in_new_life)
        self.accepted_after = accepted - killed
        # The standby may lack the writers' tokens.
        for writer in site.writers:
            writer.refresh_soon()
        site.until_all_have_written()
        self.acknowledged_later = site.acknowledged - acknowledged
        self.refused, self.broken = (
            site.counted("answers 503") - refusals[0], site.counted("broken or silent connections") - refusals[1])
        if is_synchronous:
            # Writers never resend acknowledged pushes, so rows that exist were never lost.
            self.lost = self.before.keys() - site.held(self.standby).keys()

    def write_what_the_standby_lacks(self):
        """Disconnects the standby, and waits until every phone and every writer has an acknowledged write."""
        site = self.site
        site.stop_persons()
        for phone in site.phones:
            phone.until_sent()
        self.standby.leave(self.primary)
        for phone in site.phones:
            for _ in range(3):
                assert phone.write()
        for phone in site.phones:
            phone.until_sent()
        for writer in site.writers:
            writer.refresh_soon()
        site.until_all_have_written(10)
        now, then = site.held(self.primary), site.held(self.standby)
        self.lost = {row for row, value in now.items() if then.get(row) != value}
        assert {row[0] for row in self.lost} == {row[0] for row in now}, "an account has lost nothing"
        site.start_persons()

    def epochs_in(self, node):
        return [name for [name] in node.sql("SELECT name FROM optimist_epochs ORDER BY number")]

    def accepted_in_new_life(self):
        times = [write.at for writer in self.site.writers for write in writer.writes if write.epoch not in self.epochs]
        return min(times, default=None)

    def judge(self, is_synchronous):
        site = self.site
        todos, seconds = site.settle()
        after = site.held(self.standby)
        missing = self.before.keys() - after.keys()
        epochs = self.epochs_in(self.standby)
        ended = self.sessions - site.sessions(self.standby)
        counters = sum(row[1] == "tally" for row in self.lost)
        print(f"      {'synchronous' if is_synchronous else 'asynchronous'}: {self.acknowledged} writes acknowledged before the "
              f"kill and {self.acknowledged_later} after it, {len(self.lost)} rows lost at the promotion, "
              f"{counters} of them counters, {len(self.lost - missing)} healed, {len(missing)} gone in the end, 0 double among "
              f"{todos} writes; promoted after "
              f"{self.promoted_after:.2f} s, first write accepted {self.accepted_after:.2f} s after the kill (goal: 5 s), "
              f"{self.refused} answers 503, {self.broken} broken connections; {len(self.sessions)} sessions, "
              f"{len(ended)} ended; epoch {len(epochs)}; {site.written_on_phones} writes on phones, all there {seconds:.1f} s "
              "after the last", flush=True)
        assert not missing, f"gone: {sorted(missing)[:10]}"
        assert not is_synchronous or not self.lost, f"lost: {sorted(self.lost)[:10]}"
        assert is_synchronous or self.lost, "nothing was lost, so nothing was tried"
        assert len(epochs) == len(self.epochs) + 1 and epochs[:-1] == self.epochs, f"{self.epochs} were followed by {epochs}"
        assert not ended, f"sessions ended: {ended}"


def fail_over(site, is_synchronous):
    for number in range(FAILOVERS):
        if number:
            site.pair.replace()
            site.write_again()
        failover = Failover(site)
        try:
            failover.play(is_synchronous)
            failover.judge(is_synchronous)
        except Exception as problem:
            said = "\n".join(server.program.said[-2000:] for server in site.servers)
            raise AssertionError(f"failover {number}, seed {SEED}\n{said}") from problem


@claims
def synchronous(folder):
    """N6 N9 with a synchronous standby, killing the primary loses no acknowledged write, and writes resume within 5
    s."""
    with Site(folder / "synchronous", SEED, heals=False) as site:
        fail_over(site, is_synchronous=True)


@claims
def asynchronous(folder):
    """N6 N2 L3 devices heal what an asynchronous standby lacked, each row and count once; all stay signed in."""
    with Site(folder / "asynchronous", SEED + 1, heals=True) as site:
        fail_over(site, is_synchronous=False)


if __name__ == "__main__":
    # As with Ctrl-C, a claim's programs and clusters end with it, and no other claim begins.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    clusters.run(claims, "N1 N6 servers and a primary die, and nothing is lost.")
