# This source file is part of the Optimist open source project, under the MIT licence.
"""The operator's commands for accounts, `optimist account`, and the settings of `optimist serve` for accounts."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import uuid
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from program import OPTIMIST, PATIENCE, Program, eventually, run  # noqa: E402

claims = Claims()
PASSWORD = "correct horse battery"


def post(address, path, body, token=None):
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(address + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def enter(address, path, email, password=PASSWORD, device="phone", **more):
    return post(
        address, f"/auth/{path}",
        {"email": email, "password": password, "device": {"id": device, "name": "Phone"}, **more})


def serve(folder, *options):
    program = Program("serve", "--port", "0", "--data", folder, *options)
    return program, program.find(r"Optimist serves (http://127\.0\.0\.1:\d+)")


def account(folder, *arguments):
    """Runs `optimist account …`, which must succeed. Returns its output."""
    status, said, problem = run("account", *arguments, "--data", folder)
    assert status == 0, problem
    return said.strip()


@claims
def log_for_programs(folder):
    """With --log-format json each log line is an object, and none contains the password."""
    program, address = serve(Path(tempfile.mkdtemp(dir=folder)), "--log-format", "json", "--log-level", "debug")
    with program:
        assert enter(address, "sign-in", "ann@example.org")[0] == 400
        eventually("a refused sign-in is logged", lambda: '"logger":"optimist.server"' in program.said)
        lines = [json.loads(line) for line in program.said.splitlines() if line.startswith("{")]
        assert lines and all({"time", "level", "message", "metadata"} <= line.keys() for line in lines), lines
        assert PASSWORD not in program.said


@claims
def invitations(folder):
    """If sign-up needs an invitation, the operator can make one while the server runs, and it admits one person."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    program, address = serve(folder, "--sign-up", "invited")
    with program:
        assert enter(address, "sign-up", "ann@example.org")[1]["reason"] == "invitation_needed"
        invitation = account(folder, "invite", "--days", "2")
        assert "\n" not in invitation and invitation.startswith("i1."), invitation
        assert enter(address, "sign-up", "ann@example.org", invitation=invitation)[0] == 201
        assert enter(address, "sign-up", "bob@example.org", invitation=invitation)[1]["reason"] == "invalid_invitation"


@claims
def orders_reach_devices(folder):
    """Ending sessions, resetting and deleting take effect on a running server, which logs them without secrets."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    program, address = serve(folder)
    with program:
        token = enter(address, "sign-up", "ann@example.org")[1]["access_token"]
        listed = json.loads(account(folder, "list", "--json"))["accounts"]
        assert [(entry["email"], entry["sessions"]) for entry in listed] == [("ann@example.org", 1)], listed
        assert account(folder, "end-sessions", "ann@example.org") == "1 sessions ended."
        assert post(address, "/auth/password", {}, token)[1]["reason"] == "revoked"
        secret = account(folder, "reset", "ann@example.org")
        body = {"token": secret, "newPassword": "another horse battery"}
        assert post(address, "/auth/reset-password", body)[0] == 200
        token = enter(address, "sign-in", "ann@example.org", "another horse battery")[1]["access_token"]
        *lines, end = [json.loads(line) for line in account(folder, "export", "ann@example.org").splitlines()]
        assert [next(iter(line)) for line in lines] == ["account", "session", "session"], lines
        assert end == {"end": {"identities": 0, "sessions": 2, "memberships": 0, "events": 0, "rows": 0}}, end
        said = account(folder, "delete", "ann@example.org", "--yes")
        assert "0 rows, 2 sessions, 0 spaces  erased" in said and lines[0]["account"]["id"] in said, said
        assert account(folder, "receipts") in said
        assert run("vacuum", "--data", folder)[0] == 1
        assert post(address, "/auth/password", {}, token)[1]["reason"] == "account_deleted"
        status, _, problem = run("account", "sessions", "ann@example.org", "--data", folder)
        assert status == 1 and problem.startswith("optimist account: No account uses this address."), problem
        for event in ("session_ended", "password_changed", "account_deleted"):
            assert program.said.count(f"security.event={event}") >= 1, program.said
        assert secret not in program.said and "example.org" not in program.said


@claims
def orders_without_a_server(folder):
    """The same commands work on a stopped server's directory, and a killed command blocks nothing."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    program, address = serve(folder)
    with program:
        assert enter(address, "sign-up", "ann@example.org")[0] == 201
        program.kill()
    assert "ann@example.org" in account(folder, "list")
    secret = account(folder, "reset", "ann@example.org")
    program, address = serve(folder)
    with program:
        body = {"token": secret, "newPassword": "another horse battery"}
        assert post(address, "/auth/reset-password", body)[0] == 200
        mode = stat.S_IMODE(os.stat(folder / "control.sock").st_mode)
        assert mode == 0o600, oct(mode)
        assert program.terminate()[0] == 0
    account(folder, "delete", "ann@example.org", "--yes")
    assert account(folder, "list") == ""
    status, said, problem = run("vacuum", "--data", folder)
    assert status == 0 and "bytes" in said, problem
    status, _, problem = run("account", "list", "--data", folder / "nowhere")
    assert status == 1 and "does not contain a server's data" in problem, problem


@claims
def reset_hook(folder):
    """A user who forgot the password gets a token from the operator's program; a stranger's address gets none."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    (folder / "data").mkdir()
    hook, mail = folder / "hook", folder / "mail"
    hook.write_text(f"#!/bin/sh\ncat >> {mail}\n")
    hook.chmod(0o700)
    program, address = serve(folder / "data", "--reset-hook", hook)
    with program:
        enter(address, "sign-up", "ann@example.org")
        for email in ("nobody@example.org", "ann@example.org"):
            assert post(address, "/auth/forgot-password", {"email": email}) == (202, {})
        eventually("a mail", lambda: mail.exists() and mail.read_text().endswith("\n"))
        reset = json.loads(mail.read_text())
        assert reset["email"] == "ann@example.org" and reset["expiresAt"].endswith("Z"), reset
        body = {"token": reset["token"], "newPassword": "another horse battery"}
        assert post(address, "/auth/reset-password", body)[0] == 200
    status, _, problem = run("serve", "--data", folder / "data", "--reset-hook", folder / "none")
    assert status != 0 and "--reset-hook" in problem, problem


@claims
def warns_of_plain_text(folder):
    """A public server without TLS warns of eavesdroppers; one behind a proxy warns of spoofed addresses."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    program, _ = serve(folder)
    with program:
        assert "TLS" not in program.said, program.said
    # A documentation address: no machine has it, so the server cannot listen.
    for options, words in {
        ("--host", "192.0.2.1"): ("without TLS", "passwords"),
        ("--host", "192.0.2.1", "--behind-proxy"): ("trusts X-Forwarded-For", "only the proxy"),
    }.items():
        status, _, problem = run("serve", "--port", "0", "--data", folder, *options)
        assert status == 1 and all(word in problem for word in words), problem


@claims
def export_that_is_not_read(folder):
    """O8 an export with a paused reader does not hold the write-ahead log, and completes in the end."""
    data = Path(tempfile.mkdtemp(dir=folder))
    program, address = serve(data)
    with program:
        _, grant = enter(address, "sign-up", "ann@example.org")
        rows = {str(uuid.uuid4()): {"content": "x" * 30_000} for _ in range(20)}
        request = {
            "using": ["urn:ietf:params:jmap:core", "urn:x-optimist:rowsync"],
            "methodCalls": [["todo/set", {"accountId": grant["account_id"], "create": rows}, "0"]],
        }
        assert post(address, "/jmap", request, grant["access_token"])[0] == 200
        with subprocess.Popen(
                [OPTIMIST, "account", "export", "ann@example.org", "--data", str(data)], stdout=subprocess.PIPE,
                text=True) as export:
            first = export.stdout.readline()
            assert export.poll() is None, "it has more to print than a pipe holds"
            with closing(sqlite3.connect(data / "optimist.sqlite", timeout=PATIENCE)) as database:
                busy, _, _ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            assert busy == 0, "a reader holds the log"
            lines = [first, *export.stdout]
            assert export.wait(PATIENCE) == 0
        assert json.loads(lines[-1]) == {"end": {"identities": 0, "sessions": 1, "memberships": 0, "events": 0, "rows": 20}}, lines[-1]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
