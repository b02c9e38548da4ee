# This source file is part of the Optimist open source project, under the MIT licence.
"""A PostgreSQL primary and a standby that streams from it, at two fixed addresses, and the death of the primary."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "Scripts"))
sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims, Skip  # noqa: E402
from testing.postgres import Postgres, programs  # noqa: E402, F401
from program import eventually  # noqa: E402

# With the first setting, a killed cluster's memory is in its directory, and is deleted with it. A standby promoted at
# the moment it loses its primary first waits for the retry interval, whose default is 5 s.
SETTINGS = ["dynamic_shared_memory_type=mmap", "wal_retrieve_retry_interval=250ms"]


class Node(Postgres):
    """A cluster whose processes may be killed. A standby has a primary's data and follows it."""

    def __init__(self, primary=None, folder=None):
        self.is_running, self.folder, self._shared_memory = False, folder, None
        try:
            self._make(primary)
        except BaseException:
            self.discard()
            raise
        self.is_running = True
        lines = (self.data / "postmaster.pid").read_text().splitlines()
        self.process = int(lines[0])
        self._shared_memory = lines[6].split()[1]

    def _make(self, primary):
        if primary is None:
            return super().__init__(settings=SETTINGS)
        self.bin, self.port, self.settings = primary.bin, primary.port, primary.settings
        self.folder = self.folder or own_folder()
        self.data = self.folder / f"data-{uuid.uuid4().hex[:8]}"
        self.run("pg_basebackup", "--pgdata", str(self.data), "--host", str(primary.folder), "--username", "optimist",
                 "--write-recovery-conf", "--checkpoint", "fast", "--no-sync")
        self.start()

    def discard(self):
        """Ends everything that runs, and removes the directory."""
        if self.folder is None:
            return
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        for lock in self.folder.glob("data*/postmaster.pid"):
            subprocess.run([*as_user, f"{self.bin}/pg_ctl", "--pgdata", str(lock.parent), "--mode", "immediate", "stop"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", check=False)
        # A program that creates the cluster may keep writing briefly.
        for _ in range(100):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                break
            time.sleep(0.1)

    def start(self):
        log = self.folder / "log"
        try:
            self.run("pg_ctl", "--pgdata", str(self.data), "--wait", "--log", str(log), "-o", self.options, "start")
        except OSError as problem:
            raise OSError(f"{problem}\n{log.read_text()[-2000:]}") from None

    def sql(self, statement, database="optimist"):
        """The rows that a statement returns, each as a list."""
        said = self.run("psql", "--host", str(self.folder), "--username", "optimist", "--dbname", database, "--no-psqlrc",
                        "--tuples-only", "--no-align", "--field-separator", "\x1f", "--command", statement)
        return [line.split("\x1f") for line in said.splitlines()]

    def set(self, name, value):
        self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.sql("SELECT pg_reload_conf()")

    def kill(self):
        """Kills all of its processes with kill -9. Its data is never used again."""
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], stdout=subprocess.PIPE, text=True, check=True).stdout
        children = [int(child) for child, parent in re.findall(r"(\d+) +(\d+)", listed) if int(parent) == self.process]
        for process in [self.process, *children]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass  # The others notice the first one's death.
        self.is_running = False

    def promote(self):
        self.run("pg_ctl", "--pgdata", str(self.data), "--wait", "promote")

    def leave(self, primary):
        """Stops following the primary, so that later writes are certainly missing."""
        self.set("primary_conninfo", f"host={self.folder}/nowhere")
        eventually("the standby has left", lambda: primary.sql("SELECT pid FROM pg_stat_replication") == [])

    def close(self):
        """Ends it, and leaves its directory."""
        if self.is_running:
            self.is_running = False
            self.run("pg_ctl", "--pgdata", str(self.data), "--mode", "immediate", "stop")
        elif self._shared_memory:
            # The system keeps a killed cluster's shared memory until it is removed. It may be gone already.
            subprocess.run(["ipcrm", "-m", self._shared_memory], stderr=subprocess.DEVNULL, check=False)

    def __exit__(self, *_):
        try:
            self.close()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def run(claims, sentence):
    """Runs claims that need PostgreSQL, in a folder that it may enter. Without PostgreSQL, `sentence` is skipped
    instead."""

    def absent(_):
        raise Skip("there is no PostgreSQL on this machine")

    absent.__doc__ = sentence
    if not programs():
        claims = Claims()
        claims(absent)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o711)  # If this is root, PostgreSQL runs as another user.
        claims.run(Path(folder))


def own_folder():
    """A directory for a cluster. Its name is short because it contains the socket."""
    folder = Path(tempfile.mkdtemp(prefix="optimist-pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    return folder


class Pair:
    """A primary and its standby, which can take over repeatedly."""

    def __init__(self):
        self.nodes = []
        try:
            self.nodes.append(Node())
            self.nodes.append(Node(self.primary))
        except BaseException:
            self.__exit__()
            raise

    @property
    def primary(self):
        return self.nodes[0]

    @property
    def standby(self):
        return self.nodes[1]

    @property
    def url(self):
        """Names both nodes, whichever is the primary."""
        return f"postgres:///optimist?host={self.primary.folder},{self.standby.folder}&user=optimist"

    def set_synchronous(self, is_synchronous):
        self.primary.set("synchronous_standby_names", "*" if is_synchronous else "")
        wanted = [["sync" if is_synchronous else "async"]]
        eventually("the standby streams", lambda: self.primary.sql(
            "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'") == wanted)

    def fail_over(self):
        """Kills the primary and promotes the standby immediately."""
        self.primary.kill()
        self.standby.promote()
        self.nodes.reverse()

    def replace(self):
        """A new standby, with the new primary's data, takes the dead cluster's address."""
        dead = self.nodes.pop()
        dead.close()
        shutil.rmtree(dead.data)
        # The lock names a process that its parent may not have waited for yet.
        for left in dead.folder.glob(".s.PGSQL.*"):
            left.unlink()
        self.nodes.append(Node(self.primary, dead.folder))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.__exit__()
