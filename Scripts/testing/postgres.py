# This source file is part of the Optimist open source project, under the MIT licence.
"""Runs a temporary PostgreSQL server for tests, on a Unix socket."""

import glob
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .process import PATIENCE


def programs():
    """The directory of PostgreSQL's programs, or None if PostgreSQL is not installed."""
    found = shutil.which("initdb")
    places = [str(Path(found).resolve().parent)] if found else []
    places += sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda place: int(place.split("/")[-2]), reverse=True)
    places += glob.glob("/opt/homebrew/opt/postgresql@*/bin") + glob.glob("/usr/local/opt/postgresql@*/bin")
    return next((place for place in places if os.access(f"{place}/initdb", os.X_OK)), None)


class Postgres:
    """A new cluster with an empty database. The end of a `with` block stops and deletes it.

    PostgreSQL refuses to run as root, so for root it runs as the user postgres. A crash of the machine may damage the
    cluster unless `is_durable`. `settings` are server settings of the form "name=value". `inside` is the folder for its
    files (default: the temporary folder).
    """

    def __init__(self, is_durable=False, settings=(), inside=None):
        self.bin = programs()
        if not self.bin:
            raise FileNotFoundError("PostgreSQL is not installed")
        self.folder = Path(tempfile.mkdtemp(prefix="optimist-pg-", dir=inside))
        self.data = self.folder / "data"
        self.port = 5432
        self.settings = list(settings) + ([] if is_durable else ["fsync=off", "full_page_writes=off"])
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self.run("initdb", "--pgdata", str(self.data), "--username", "optimist", "--auth", "trust", "--encoding", "UTF8",
                 "--locale", "C", "--no-sync")
        self.run("pg_ctl", "--pgdata", str(self.data), "--wait", "--log", str(self.folder / "log"), "-o", self.options,
                 "start")
        self.run("createdb", "--host", str(self.folder), "--username", "optimist", "optimist")

    @property
    def options(self):
        settings = [f"unix_socket_directories={self.folder}", "listen_addresses=", "max_connections=200", *self.settings]
        return " ".join(f"-c {setting}" for setting in settings)

    def run(self, program, *arguments):
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        done = subprocess.run(
            [*as_user, f"{self.bin}/{program}", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd="/", env=os.environ | {"PGCTLTIMEOUT": str(PATIENCE)})
        if done.returncode:
            raise OSError(f"{program}: {done.stdout}")
        return done.stdout

    @property
    def url(self):
        return f"postgres:///optimist?host={self.folder}&user=optimist"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.run("pg_ctl", "--pgdata", str(self.data), "--mode", "immediate", "stop")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
