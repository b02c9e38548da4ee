# This source file is part of the Optimist open source project, under the MIT licence.
"""Runs the `optimist` command, and waits for conditions instead of time."""

import os
import re
import signal
import subprocess
import tempfile
import time

OPTIMIST = os.environ.get("OPTIMIST", "optimist")
# Only against hangs, in seconds: a busy machine is slow.
PATIENCE = 300


def eventually(what, condition, seconds=PATIENCE):
    """Polls until the condition holds, and returns its value. `what` may be a function that is called on failure."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.02)
    return value


def run(*arguments, seconds=2 * PATIENCE, environment=None):
    """Runs a command to its end. Returns its exit status and both outputs. `environment` is added to the test's own."""
    ended = subprocess.run(
        [OPTIMIST, *map(str, arguments)], capture_output=True, text=True, timeout=seconds,
        env={**os.environ, **(environment or {})})
    return ended.returncode, ended.stdout, ended.stderr


class Program:
    """A command that runs until it is ended: a server, a lab or a proxy."""

    def __init__(self, *arguments, environment=None, around=(), program=OPTIMIST, folder=None):
        """`environment` is added to the test's own, `around` is a command that executes the program, and `folder` is
        where the program runs."""
        self._log = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [*around, program, *map(str, arguments)], stdout=self._log, stderr=subprocess.STDOUT, cwd=folder,
            env={**os.environ, **(environment or {})})

    @property
    def said(self):
        # The program writes at this process's position in the file, so that position must not move.
        log = self._log.fileno()
        return os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace")

    @property
    def is_running(self):
        return self._process.poll() is None

    def find(self, pattern):
        """Waits until the program has printed a match, and returns its first group."""

        def printed():
            # If the program has ended, output that is read after this is complete.
            is_running = self.is_running
            found = re.search(pattern, self.said)
            assert found or is_running, f"ended with {self._process.returncode}:\n{self.said}"
            return found

        return eventually(lambda: f"{pattern} in\n{self.said}", printed)[1]

    def kill(self):
        """Kills it like a power switch: kill -9."""
        self._process.kill()
        self._process.wait()

    def signal(self, number):
        """Sends it a signal, for example to stop or continue it."""
        self._process.send_signal(number)

    def terminate(self, seconds=PATIENCE):
        """Asks it to end. Returns its exit status and how long it took."""
        started = time.monotonic()
        self.signal(signal.SIGTERM)
        try:
            return self._process.wait(seconds), time.monotonic() - started
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running {seconds} s after SIGTERM") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.is_running:
            self.kill()
        self._log.close()
