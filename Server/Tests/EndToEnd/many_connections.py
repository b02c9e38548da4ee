# This source file is part of the Optimist open source project, under the MIT licence.
"""More connections than a server may have: it idles at the limit, and continues when some have ended."""

import http.client
import os
import re
import resource
import socket
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims, Skip  # noqa: E402
from program import PATIENCE, Program, eventually  # noqa: E402

claims = Claims()


@contextmanager
def server(folder, *arguments, files=None):
    """A server and its port. `files` are its initial limits of open files, as for setrlimit."""
    around = ["prlimit", f"--nofile={files[0]}:{files[1]}"] if files else []
    with Program("serve", "--port", "0", "--data", folder, *arguments, around=around) as program:
        yield program, int(program.find(r"Optimist serves http://127\.0\.0\.1:(\d+)"))


def health(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status
    finally:
        connection.close()


def connect(port, stack):
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
    connection.setblocking(False)
    return connection


def is_closed(connection):
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def processor_seconds(process):
    with open(f"/proc/{process}/stat") as line:
        times = line.read().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def needs_linux():
    if sys.platform != "linux":
        raise Skip("it takes prlimit and /proc")


@claims
def raises_the_limit(folder):
    """The server raises its limit of open files to the maximum, and reports how many connections that allows."""
    needs_linux()
    with server(folder / "raised", files=(256, 4096)) as (program, _):
        limits = Path(f"/proc/{program._process.pid}/limits").read_text()
        assert re.search(r"Max open files +4096 +4096", limits), limits
        assert program.find(r"at most (\d+) connections") == str(4096 - 128)


@claims
def rests_at_the_limit(folder):
    """At the limit of open files the server idles, and serves waiting clients when others leave."""
    needs_linux()
    with server(folder / "full", files=(128, 128)) as (program, port), ExitStack() as stack:
        first = [connect(port, stack) for _ in range(200)]
        time.sleep(1)
        before = processor_seconds(program._process.pid)
        time.sleep(3)
        share = (processor_seconds(program._process.pid) - before) / 3
        print(f"      {share:.1%} of a core", flush=True)
        assert share < 0.1, share
        for connection in first:
            connection.close()
        eventually("it serves again", lambda: health(port) == 200)


@claims
def rests_when_files_run_out(folder):
    """When other files use up the limit, the server pauses accepting for a second at a time."""
    needs_linux()
    with server(folder / "out", files=(512, 512)) as (program, port), ExitStack() as stack:
        kept = [connect(port, stack) for _ in range(60)]
        eventually("accepted", lambda: len(os.listdir(f"/proc/{program._process.pid}/fd")) > 60)
        open_files = len(os.listdir(f"/proc/{program._process.pid}/fd"))
        resource.prlimit(program._process.pid, resource.RLIMIT_NOFILE, (open_files, 512))
        kept += [connect(port, stack) for _ in range(5)]
        eventually("it says so", lambda: "too many files are open" in program.said)
        before = processor_seconds(program._process.pid)
        time.sleep(4)
        share = (processor_seconds(program._process.pid) - before) / 4
        print(f"      {share:.1%} of a core", flush=True)
        assert share < 0.1, share
        resource.prlimit(program._process.pid, resource.RLIMIT_NOFILE, (512, 512))
        eventually("it serves again", lambda: health(port) == 200)


@claims
def limits_each_address(folder):
    """An address has a limit of connections; further connections are closed, and new ones replace those that end."""
    with server(folder / "address", "--connections-per-address", "20") as (_, port), ExitStack() as stack:
        # The connection that checked the server may still count, so one of the first may be refused as well.
        connections = [connect(port, stack) for _ in range(24)]
        eventually("some are closed", lambda: sum(map(is_closed, connections)) in (4, 5))
        next(kept for kept in connections if not is_closed(kept)).close()
        eventually("there is a place", lambda: health_or_none(port) == 200)
    with server(folder / "proxied", "--connections-per-address", "2", "--behind-proxy") as (_, port), ExitStack() as stack:
        kept = [connect(port, stack) for _ in range(20)]
        assert health(port) == 200 and not any(map(is_closed, kept))


def health_or_none(port):
    try:
        return health(port)
    except (OSError, http.client.HTTPException):
        return None


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
