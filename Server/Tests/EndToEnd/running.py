# This source file is part of the Optimist open source project, under the MIT licence.
"""The literal commands of Documentation/RunningTheServer.md, from nothing to a backup restored elsewhere, and the
command of the systemd unit."""

import configparser
import json
import os
import re
import resource
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims, Skip  # noqa: E402
from guides import blocks  # noqa: E402
from phones import free_port  # noqa: E402
from program import OPTIMIST, PATIENCE, Program, eventually  # noqa: E402
from writers import ask  # noqa: E402

claims = Claims()
ROOT = Path(__file__).parents[3]
PAGE = ROOT / "Documentation/RunningTheServer.md"
UNIT = ROOT / "Server/Deploy/optimist.service"


@claims
def page(folder):
    """O6 O8 O9 the page's commands lead from nothing to a server on a restored backup, and to a deleted account."""
    commands = "\n".join(blocks(PAGE.name, "sh"))
    for port in "8090", "8091":
        assert port in commands
        commands = commands.replace(port, str(free_port()))
    (folder / "bin").mkdir()
    (folder / "bin" / "optimist").symlink_to(Path(OPTIMIST).resolve())
    script = f"set -e; trap 'kill $server 2>/dev/null || true' EXIT\n{commands}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=2 * PATIENCE,
        env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"})
    assert done.returncode == 0, (done.stdout, done.stderr)
    for words in ("ann@example.org  ", "A shell", "It was checked", "is sound", "Start the server on it", '"accounts"', "kept until"):
        assert words in done.stdout, (words, done.stdout)
    lines = [json.loads(line) for line in (folder / "ann.jsonl").read_text().splitlines()]
    assert lines[0]["account"]["email"] == "ann@example.org" and lines[-1]["end"] == {"identities": 0, "sessions": 1, "memberships": 0, "events": 0, "rows": 0}, lines
    assert not any(b"ann@example.org" in file.read_bytes() for file in (folder / "machine-b").iterdir() if file.is_file())


def service():
    """The settings of the unit's service."""
    unit = configparser.ConfigParser(interpolation=None, delimiters="=", comment_prefixes="#")
    unit.optionxform = str
    unit.read(UNIT)
    return unit["Service"]


def unit_command(unit, folder):
    """The unit's arguments for the command, with the page's settings, and a machine's directories in a folder."""
    program, *arguments = unit["ExecStart"].split()
    # systemd finds it in /usr/local/bin, where the page puts it, and in /usr/bin, where the Debian package does.
    assert program == "optimist" and "/usr/local/bin/optimist\n" in PAGE.read_text(), program
    settings = re.search(r"settings.json is one object:\n\n```\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    place = f"/var/lib/{unit['StateDirectory']}"
    assert json.loads(settings)["data"] == place, settings
    (folder / "data").mkdir(mode=int(unit["StateDirectoryMode"], 8))
    (folder / "settings.json").write_text(settings.replace(place, str(folder / "data")))
    assert "/etc/optimist/settings.json" in arguments
    return [argument.replace("/etc/optimist", str(folder)) for argument in arguments]


def is_ready(port):
    try:
        return ask(port, "GET", "/readyz")[0] == 200
    except OSError:
        return False


@claims
def unit(folder):
    """O10 the systemd unit's command serves with the page's settings, survives kill -9, and stops in time."""
    if sys.platform != "linux":
        raise Skip("it takes prlimit")
    folder, port, unit = folder / "unit", free_port(), service()
    folder.mkdir()
    arguments = unit_command(unit, folder)
    files = min(int(unit["LimitNOFILE"]), resource.getrlimit(resource.RLIMIT_NOFILE)[1])

    def start():
        program = Program(*arguments, around=["prlimit", f"--nofile={files}"], environment={"OPTIMIST_PORT": str(port)})
        eventually(lambda: f"it is ready: {program.said}", lambda: is_ready(port))
        return program

    assert unit["Restart"] == "always"
    with start() as program:
        assert program.find(r"at most (\d+) connections") == str(files - 128)
        assert stat.S_IMODE((folder / "data").stat().st_mode) == 0o700
        program.kill()
    with start() as program, socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(b"POST /auth/sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{")
        eventually("it answers another one", lambda: is_ready(port))
        status, seconds = program.terminate(int(unit["TimeoutStopSec"]))
        assert status == 0, program.said
        print(f"      stopped after {seconds:.1f} s, with half a request before it", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
