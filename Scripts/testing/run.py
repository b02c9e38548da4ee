# This source file is part of the Optimist open source project, under the MIT licence.
"""Runs stages, several at a time if possible, and counts their tests."""

import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from tempfile import TemporaryDirectory

from .count import Count, telling
from .lab import Lab
from .postgres import Postgres, programs
from .process import ended

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / ".build/test-logs"
# Most end-to-end tests mostly wait, so more of them than there are cores run at once. Stages with a niceness do not count.
AT_ONCE = (os.cpu_count() or 2) + 2


def scratch_folder():
    """A temporary folder for a stage. It is in memory if there is room, because the tests create many thousands of files.

    No test needs a durable disk: the tests of power loss simulate one."""
    memory = Path("/dev/shm")
    return TemporaryDirectory(prefix="o-", dir=memory if is_roomy(memory) else None, ignore_cleanup_errors=True)


def is_roomy(memory):
    """Whether a folder exists, has more than 4 GB free, and may contain programs, because a test writes a hook there."""
    if not memory.is_dir():
        return False
    space = os.statvfs(memory)
    return space.f_bavail * space.f_frsize > 4 << 30 and not space.f_flag & os.ST_NOEXEC


class Run:
    def __init__(self, stages):
        self.waiting = stages
        self.passed = set()
        self.skipped = set()
        self.ended = set()
        self.total = Count()
        # The CPU time of the stages, in seconds.
        self.busy = 0
        self.why = []
        self.started = time.monotonic()
        # The running stages by process.
        self.processes = {}

    def to_the_end(self):
        """Runs every stage. Returns the exit status."""
        os.chdir(ROOT)
        LOGS.mkdir(parents=True, exist_ok=True)
        signal.signal(signal.SIGTERM, self.stop)
        with ThreadPoolExecutor(len(self.waiting)) as pool:
            running = {}
            while self.waiting or running:
                for stage in self.next(running.values()):
                    running[pool.submit(self.carry_out, stage)] = stage
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    self.end(running.pop(future), *future.result())
        return self.report()

    def stop(self, *_):
        """Ends every running stage and its lab."""
        self.waiting = []
        for process, stage in list(self.processes.items()):
            print(f"{self.at():>6}  {stage.name}: stopped", flush=True)
            process.terminate()
        sys.exit(143)

    def next(self, running):
        """Removes the stages that can begin now from the waiting ones, and returns them."""
        running = list(running)
        begun = []
        for stage in list(self.waiting):
            missing = {need for need in stage.needs if need in self.ended and need not in self.passed}
            if missing:
                self.waiting.remove(stage)
                self.leave_out(stage, missing)
                continue
            busy = running + begun
            is_free = not busy if stage.alone else stage.niceness or sum(not other.niceness for other in busy) < AT_ONCE
            # No stage may overtake a stage that must run alone, which could otherwise wait forever.
            if not is_free or any(need not in self.ended for need in stage.needs):
                break
            self.waiting.remove(stage)
            begun.append(stage)
            if stage.alone:
                break
        return begun

    def leave_out(self, stage, missing):
        """Counts a stage that cannot run because stages that it needs were skipped or have failed."""
        self.ended.add(stage.name)
        if missing <= self.skipped:
            self.skipped.add(stage.name)
            self.total.add(Count(skipped=1))
            print(f"{self.at():>6}  {stage.name}: skipped, because a stage that it needs was skipped", flush=True)
        else:
            self.total.add(Count(failures=[f"{stage.name}: a stage that it needs has failed"]))

    def carry_out(self, stage):
        """Runs a stage. Returns its exit status, its output, and its duration and CPU time in seconds.

        If the stage is skipped, the status is None and the output is the reason.
        """
        started = time.monotonic()
        if stage.postgres and not programs():
            return None, "PostgreSQL is not installed.", 0, 0
        if stage.latest is not None and started - self.started > stage.latest:
            return None, f"It would have begun later than {stage.latest // 60} minutes into the run.", 0, 0
        log = LOGS / f"{stage.name.replace('/', ' ')}.log"
        with log.open("w") as output, scratch_folder() as scratch:
            # A test run by root starts PostgreSQL as another user, who needs access to its files in this folder.
            os.chmod(scratch, 0o711)
            environment = {**os.environ, **stage.environment}
            # A new TMPDIR would make SwiftPM evaluate every manifest again, so builds keep the usual one.
            if not stage.builds:
                environment["TMPDIR"] = scratch
            busy = 0
            try:
                lab = Lab(environment, output) if stage.lab else nullcontext()
                database = Postgres(inside=scratch) if stage.postgres else nullcontext()
                with lab as address, database:
                    if stage.postgres:
                        environment["OPTIMIST_TEST_DATABASE"] = database.url
                    status, busy = self.run(stage, [address] if address else [], output, environment)
                busy += lab.busy if stage.lab else 0
            except OSError as error:
                output.write(f"{error}\n")
                status = 1
        return status, log.read_text(errors="replace"), time.monotonic() - started, busy

    def run(self, stage, more, output, environment):
        gently = ["nice", "-n", str(stage.niceness)] if stage.niceness else []
        with subprocess.Popen(
                gently + stage.command + more, stdout=output, stderr=subprocess.STDOUT, env=environment) as process:
            self.processes[process] = stage

            def give_up():
                output.write(f"{stage.name} did not end within {stage.patience // 60} minutes\n")
                output.flush()

            try:
                return ended(process, stage.patience, give_up)
            finally:
                del self.processes[process]

    def end(self, stage, status, log, seconds, busy):
        found = stage.counts(stage.name, status, log) if status is not None else Count(skipped=1)
        if status is None:
            print(f"{self.at():>6}  {stage.name}: skipped. {log}", flush=True)
        self.ended.add(stage.name)
        if status is None:
            self.skipped.add(stage.name)
        elif not found.failures:
            self.passed.add(stage.name)
        else:
            self.why.append((stage.name, telling(log)))
        self.total.add(found)
        self.busy += busy
        skipped = f", {found.skipped} skipped" if found.skipped else ""
        print(
            f"{self.at():>6}  {stage.name}: {found.passed} passed, {len(found.failures)} failed{skipped}, {seconds:.0f} s, "
            f"CPU {busy:.0f} s", flush=True)

    def at(self):
        minutes, seconds = divmod(int(time.monotonic() - self.started), 60)
        return f"{minutes}:{seconds:02}"

    def report(self):
        for name, lines in self.why:
            print(f"\n── {name}\n{lines}")
        print(f"\n{self.at()} minutes, CPU {self.busy / 60:.0f} minutes, output in {LOGS.relative_to(ROOT)}")
        for failure in self.total.failures:
            print(f"FAIL  {failure}")
        if self.total.skipped:
            print(f"{self.total.skipped} skipped")
        print(f"{self.total.passed} passed, {len(self.total.failures)} failed")
        return 0 if self.total.passed and not self.total.failures else 1
