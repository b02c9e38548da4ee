# This source file is part of the Optimist open source project, under the MIT licence.
"""Follows "Getting started" literally: its files, its commands, a server and two devices."""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from phones import free_port  # noqa: E402
from program import OPTIMIST, Program, eventually, run  # noqa: E402

claims = Claims()
ROOT = Path(__file__).parents[3]
# The page's port may be taken on this machine.
PORT = str(free_port())
PAGE = (ROOT / "Documentation/GettingStarted.md").read_text().replace("8090", PORT)
COMMAND = "swift run --package-path ../optimist/Server optimist "


class Follower:
    """A reader who follows the page block by block."""

    def __init__(self, folder):
        self.folder = folder
        self.running = []

    def command(self, line):
        """Runs a command to its end, or starts a program that keeps running. `optimist` is already built."""
        if line.startswith("git clone"):
            (self.folder / "optimist").symlink_to(ROOT)
        elif line.startswith("cd "):
            self.folder = self.folder / line.removeprefix("cd ")
        elif line.startswith(COMMAND + "serve"):
            self.start(OPTIMIST, f"{line.removeprefix(COMMAND)} --port {PORT}")
        elif line.startswith("swift run Planner"):
            self.start(self.folder / ".build/debug/Planner", line.removeprefix("swift run Planner"))
        elif line.startswith("../Planner/.build/debug/Planner"):
            self.start(self.folder / "../Planner/.build/debug/Planner", line.split("Planner", 2)[2])
        else:
            line = line.replace(COMMAND, f"{OPTIMIST} ")
            ended = subprocess.run(line, shell=True, cwd=self.folder, capture_output=True, text=True, timeout=3600)
            assert ended.returncode == 0, f"{line}\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}"

    def start(self, program, arguments):
        # A terminal shows each line immediately, and so must this file.
        self.running.append(
            Program(*shlex.split(arguments), program=program, folder=self.folder, around=("stdbuf", "-oL")))

    def stop(self):
        """Ends the program started last."""
        with self.running.pop() as program:
            program.terminate()

    def end(self):
        while self.running:
            self.stop()


def blocks():
    """The page's files with their names, and its commands, in order."""
    block = re.compile(r"(?:^`([\w./]+)`:\n\n)?^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
    for name, language, text in block.findall(PAGE):
        assert name or language == "sh", text
        yield name, text


def wait_until_sent(database):
    """Waits until a device has nothing left to send."""
    eventually("nothing is pending", lambda: json.loads(run("inspect", "--json", database)[1])["pendingCount"] == 0)


def follow(follower):
    to_dos = r'(\[(?:"Buy tickets"(?:, )?){%d}\])'
    for name, text in blocks():
        if name:
            (follower.folder / name).write_text(text)
            continue
        for line in text.splitlines():
            follower.command(line)
            if line == "swift run Planner":
                follower.running[-1].find(to_dos % 1)
                follower.stop()
            elif " serve " in line:
                follower.running[-1].find(r"(http://\S+)")
            elif " sign-up " in line:
                follower.running[-1].find(to_dos % 2)
                wait_until_sent(follower.folder / "planner.sqlite")
                follower.stop()
            elif " sign-in " in line:
                follower.running[-1].find(to_dos % 3)


@claims
def the_page_can_be_followed():
    """A reader who follows "Getting started" sees the to-dos of one device on the other."""
    with tempfile.TemporaryDirectory() as temporary:
        follower = Follower(Path(temporary))
        try:
            follow(follower)
        finally:
            follower.end()


claims.run()
