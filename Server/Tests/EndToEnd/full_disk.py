# This source file is part of the Optimist open source project, under the MIT licence.
"""Full disks of a phone and of the server: small file systems, visible only to this process and its children."""

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims, Skip  # noqa: E402
from program import eventually  # noqa: E402
from phones import Phone, Server, judge, settle  # noqa: E402

PRIVATE = "OPTIMIST_PRIVATE_MOUNTS"
claims = Claims()

# Fills the server's disk.
FILLER = "x" * 900


@contextmanager
def small_disk(folder):
    """A file system of 2 MiB at this folder."""
    if not os.environ.get(PRIVATE):
        raise Skip("this system lets nobody mount a file system of his own")
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder):
    with open(folder / "filler", "wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(4096))
        except OSError:
            pass


def make_room(folder):
    (folder / "filler").unlink()


@claims
def phone_is_full(folder):
    """V4 on a full disk a phone's writes fail or stay, its status reports it, and sync resumes automatically."""
    with (
        small_disk(folder / "phone") as disk, Server(folder / "server") as server,
        Phone(disk, server) as phone, Phone(folder / "other", server) as other,
    ):
        for each in (phone, other):
            each.until_open()
        phone.writes(3)
        settle(server, [phone, other])
        fill(disk)
        # Writes that fit into the WAL still succeed.
        assert phone.writes(200) < 200, "the disk is not full"
        other.writes(50)
        phone.until_says("deviceTrouble")
        make_room(disk)
        settle(server, [phone, other])
        assert phone.writes(3) == 3, "writes still fail"
        settle(server, [phone, other])


@claims
def server_is_full(folder):
    """S5 on a full disk the server answers 503; when there is space again, pending rows arrive automatically."""
    with (
        small_disk(folder / "full-server") as disk, Server(disk) as server, Phone(folder / "writer", server) as phone,
    ):
        phone.until_open()
        phone.writes(3)
        settle(server, [phone])
        fill(disk)
        for _ in range(200):
            status, head, text = server.call("todo/set", create={"k": {"content": FILLER, "priority": 1}})
            if status != 200:
                break
        assert status == 503, (status, text)
        eventually("it is not ready", lambda: server.ask("GET", "/readyz")[0] == 503)
        assert head["Content-Type"] == "application/problem+json" and head["Retry-After"], (head, text)
        assert phone.writes(3) == 3
        phone.until_says("offline")
        make_room(disk)
        phone.until_sent()
        eventually("it is ready", lambda: server.ask("GET", "/readyz")[0] == 200)
        judge([row for row in server.rows() if row[1] != FILLER], phone.pairs)


if __name__ == "__main__":
    private = ["unshare", "--mount", "--map-root-user"]
    if not os.environ.get(PRIVATE) and sys.platform == "linux":
        if subprocess.run([*private, "true"], capture_output=True).returncode == 0:
            os.execvpe(private[0], [*private, sys.executable, *sys.argv], {**os.environ, PRIVATE: "1"})
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
