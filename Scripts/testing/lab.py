# This source file is part of the Optimist open source project, under the MIT licence.
"""Runs a lab for a stage, with an empty data directory on a free port."""

import re
import signal
import subprocess
import tempfile
import time
import urllib.request

from .process import PATIENCE, ended


class Lab:
    def __init__(self, environment, output):
        self.environment, self.output = environment, output

    def __enter__(self):
        """Starts the lab, and returns its address when it answers requests."""
        self.data = tempfile.TemporaryDirectory(dir=self.environment["TMPDIR"], ignore_cleanup_errors=True)
        self.log = tempfile.NamedTemporaryFile("r", errors="replace")
        with open(self.log.name, "w") as log:
            self.process = subprocess.Popen(
                [self.environment["OPTIMIST"], "lab", "--port", "0", "--data", self.data.name], stdout=log,
                stderr=subprocess.STDOUT, env=self.environment)
        try:
            return self.address()
        except BaseException:
            self.__exit__()
            raise

    def address(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            found = re.search(r"http://127\.0\.0\.1:\d+", self.said())
            if found and answers(found[0]):
                return found[0]
            time.sleep(0.1)
        self.output.write(self.said())
        raise OSError("The lab did not start.")

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def __exit__(self, *_):
        self.process.terminate()
        # The CPU time of the lab, in seconds.
        status, self.busy = ended(self.process, PATIENCE)
        self.output.write(f"── output of the lab\n{self.said()[-20_000:]}")
        self.log.close()
        self.data.cleanup()
        if status == -signal.SIGKILL:
            raise OSError("The lab did not end.")


def answers(address):
    try:
        with urllib.request.urlopen(f"{address}/lab/devices", timeout=10):
            return True
    except OSError:
        return False
