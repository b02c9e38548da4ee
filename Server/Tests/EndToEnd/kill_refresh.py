# This source file is part of the Optimist open source project, under the MIT licence.
"""Kills a process at the steps of a refresh, and looks for tokens in everything written during the run.

24 kills, 1,000 in a soak and 8 in short: each step once, and then random ones. OPTIMIST_SEED repeats the draws of an
earlier run.
"""

import json
import os
import platform
import random
import shutil
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims, Skip  # noqa: E402
from form import form  # noqa: E402
from phones import Server  # noqa: E402
from program import OPTIMIST, PATIENCE  # noqa: E402

KILLS = form(8, 24, 1000)
SEED = int(os.environ.get("OPTIMIST_SEED") or random.SystemRandom().randrange(1 << 32))
PROCESS = Path(OPTIMIST).with_name("SessionProcess")
PASSWORD = "correct-horse-battery"
claims = Claims()


class App:
    """An app that starts, makes requests, and is killed or ends."""

    def __init__(self, folder, server):
        self.folder, self.server = Path(folder), server
        self.credentials = self.folder / "credentials"
        self.kept = self.credentials / "credentials.json"
        self.said, self.secrets = b"", {PASSWORD}

    def run(self, *commands, environment=None):
        """Returns its answers, a line for each, and its exit status."""
        ended = subprocess.run(
            [PROCESS, self.credentials, self.server.address], input="\n".join(commands).encode() + b"\n",
            capture_output=True, timeout=2 * PATIENCE, env={**os.environ, **(environment or {})})
        self.said += ended.stdout + ended.stderr
        if self.kept.exists():
            self.note_secrets()
        return ended.stdout.decode().splitlines(), ended.returncode

    def note_secrets(self):
        record = json.loads(self.kept.read_text())
        self.secrets |= {record["access"], record["refresh"]}
        return record

    def let_token_end(self):
        """Makes the app believe that its access token has expired, so that the next request renews it."""
        record = self.note_secrets()
        self.kept.write_text(json.dumps({**record, "expiresAt": 0}))

    def check_kept(self):
        """The stored credentials are readable, by their owner only."""
        assert stat.S_IMODE(self.credentials.stat().st_mode) == 0o700
        names = {path.name for path in self.credentials.iterdir()}
        assert names <= {"credentials.json", ".credentials.json.new", "install-id", "refresh-lease"}, names
        for path in self.credentials.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, f"{path}: {path.stat().st_mode:o}"
        self.note_secrets()


def library(folder):
    """The library that kills the process."""
    if platform.system() != "Linux":
        raise Skip("processes are killed at their calls on Linux only")
    compiler = shutil.which("clang") or shutil.which("cc")
    if not compiler:
        raise Skip("there is no C compiler")
    source, path = Path(__file__).with_name("kill_at_call.c"), f"{folder}/kill_at_call.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", path, source, "-ldl"], check=True)
    return path


@claims
def killed_at_every_step(app):
    """T9 T10: a process killed at any step of a refresh stays signed in, with a complete file of mode 0600."""
    killer = library(app.folder)
    counted = app.folder / "count"

    def environment(at):
        return {"LD_PRELOAD": killer, "KILL_FROM": str(app.credentials), "KILL_AT": str(at), "KILL_COUNT": str(counted)}

    def renew(at=0):
        app.let_token_end()
        before = json.loads(app.kept.read_text())["refresh"]
        answers, status = app.run("ask", environment=environment(at))
        app.check_kept()
        return answers, status, json.loads(app.kept.read_text())["refresh"] != before

    answers, status, is_renewed = renew()
    assert answers == ["answered 200"] and status == 0 and is_renewed, (answers, status)
    steps = int(counted.read_text())
    assert steps > 20, f"only {steps} calls were counted"
    chance, kept = random.Random(SEED), Counter()
    planned = chance.sample(range(1, steps + 1), min(KILLS, steps))
    while kept.total() < KILLS:
        at = planned.pop() if planned else chance.randint(1, steps)
        answers, status, is_renewed = renew(at)
        if status == 0:
            assert answers == ["answered 200"], answers
            continue  # This run made fewer calls.
        assert status == -9, f"{status} at {at}"
        kept["new" if is_renewed else "old"] += 1
        answers, status = app.run("ask")
        assert answers == ["answered 200"] and status == 0, f"{answers} after a kill at {at} of {steps}, seed {SEED}"
        app.check_kept()
    print(f"      {kept.total()} kills at {steps} steps: kept the old pair {kept['old']} times, "
          f"the new {kept['new']} (seed {SEED})")


@claims
def refused(app):
    """T3: a session revoked by the server ends with that reason, and its credentials are erased."""
    record = app.note_secrets()
    body = f"token={record['refresh']}&token_type_hint=refresh_token"
    revoked = subprocess.run(
        ["curl", "--silent", "--fail", "--output", "/dev/null", "--data", body, f"{app.server.address}/auth/revoke"],
        timeout=PATIENCE)
    assert revoked.returncode == 0
    app.let_token_end()
    answers, status = app.run("ask", "ask", "describe")
    assert answers == ["ended revoked", "ended revoked", "described"] and status == 0, (answers, status)
    assert not app.kept.exists()


@claims
def no_token_is_written(app):
    """T9: no token or password is in any log, error, description, crash report or file of either side."""
    answers, _ = app.run(f"sign-up grace@example.org {PASSWORD}", "ask", "describe")
    assert answers == ["done", "answered 200", "described"], answers
    answers, status = app.run("describe", "ask", "crash", environment={"SWIFT_BACKTRACE": "enable=yes,color=no"})
    assert status < 0 and b"rror: Index out of range" in app.said, status
    if platform.system() == "Linux":
        assert b"Backtrace took" in app.said, "there is no crash report"
    written = {"what the app said": app.said, "what the server said": app.server.program.said.encode()}
    for path in app.folder.rglob("*"):
        if path.is_file() and path.name != "credentials.json":
            written[str(path)] = path.read_bytes()
    assert b"session.outcome=renewed" in app.said, "the log was not at its most talkative"
    assert len(app.secrets) > 10 and "optimist.sqlite" in "".join(written)
    for secret in app.secrets:
        # A part is as revealing as the whole; the head of a JWT is always the same.
        for part in (secret.encode(), secret[-24:].encode()):
            for place, content in written.items():
                assert part not in content, f"a secret is in {place}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder, "server"), log_level="trace") as server:
        server.until_up()
        app = App(folder, server)
        answers, status = app.run(f"sign-up ada@example.org {PASSWORD}", "ask")
        assert answers == ["done", "answered 200"], answers
        claims.run(app)
