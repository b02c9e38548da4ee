# This source file is part of the Optimist open source project, under the MIT licence.
"""Scopes, figures, long answers and the secret in the environment of webhooks, on a directory and on two servers of one
PostgreSQL.

It starts servers with $OPTIMIST.
"""

import contextlib
import json
import re
import subprocess
import sys
import urllib.request
import uuid
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[3] / "Scripts")]
import webhooks  # noqa: E402
from claims import Claims  # noqa: E402
from program import OPTIMIST, PATIENCE, Program, eventually, run  # noqa: E402
from webhooks import CORE  # noqa: E402
from writers import ask  # noqa: E402

SCHEMA = {"id": "lists", "version": 1, "types": {
    "list": {"@space": {"column": "space"}, "title": {"type": "string"}, "space": {"type": "ref"}},
    "todo": {"content": {"type": "string"}}}}
# A server reads at most this much of an answer.
LIMIT = 1 << 20
claims = Claims()


class Site(webhooks.Site):
    """`main` receives from persons, `other` from spaces, and `notes` from both. The secret is in the environment."""

    def start(self, port):
        (self.folder / "schema.json").write_text(json.dumps(SCHEMA))

        def url(name, *settings):
            return f"http://127.0.0.1:{self.receivers[name].port}/{name}?token=hidden-token {' '.join(settings)}"

        server = Program(
            "serve", "--port", port, "--admin-port", "0", "--schema", self.folder / "schema.json", *self.place,
            "--webhook", url("main", "name=main", "scope=persons"), "--webhook", url("other", "name=other", "scope=spaces"),
            "--webhook", url("notes", "name=notes", "timeout=5"), "--hook", url("gate", "deadline=5"),
            "--log-level", "trace",
            environment={"OPTIMIST_WEBHOOK_SECRET": self.secret})
        server.find(r"serves (http://[^ ]+)")
        return server

    def admin(self, path):
        """The answers of the operator's ports of all servers."""
        def get(server):
            address = server.find(r"pages are at (http://[^ ]+)/admin")
            with urllib.request.urlopen(address + path, timeout=PATIENCE) as answer:
                return answer.read().decode()

        return [get(server) for server in self.servers]

    def states(self, name):
        """The state of a webhook at the operator's port of each server."""
        return [next(each for each in json.loads(text)["webhooks"] if each["name"] == name)
                for text in self.admin("/admin/api/webhooks")]

    def figure(self, figure, name, more="", total=max):
        """The largest value of a figure of a webhook at the servers, or another total of their values."""
        pattern = rf'^optimist_webhook_{figure}{{(?=[^}}]*webhook="{name}")(?=[^}}]*{more})[^}}]*}} (\S+)$'
        values = [value for text in self.admin("/metrics") for value in re.findall(pattern, text, re.M)]
        return total([0, *map(float, values)])

    def calls(self, name, outcome):
        """How many calls of a webhook ended so, at all servers: they call it in turn."""
        return self.figure("calls_total", name, f'outcome="{outcome}"', sum)


@claims
def scopes(sites):
    """D1 A webhook for persons gets only transactions of persons, and one for spaces only those of spaces."""
    for site in sites:
        space = str(uuid.uuid4())
        site.command("space", "create", "--public", "--id", space, "--owner", "0@example.org", "--name", "News")
        account, row = "s" + space.replace("-", ""), str(uuid.uuid4())
        _, answer = ask(site.ports[0], "POST", "/jmap", {"using": [CORE], "methodCalls": [
            ["list/set", {"accountId": account, "create": {row: {"title": "News", "space": space}}}, "0"]]}, site.key)
        stored = answer["methodResponses"][0][1]
        assert stored.get("created"), answer
        for person in site.accounts:
            assert site.write(person)["created"]
        last = int(stored["newState"].rsplit(".", 1)[1])
        everything = {(account, seq) for seq in range(1, last + 1)} | {
            (person, seq) for person in site.accounts for seq in range(1, site.wrote[person] + 1)}
        eventually("all arrive", lambda: everything <= set(site.receivers["notes"].notes))
        for name, includes in ("main", lambda each: each != account), ("other", lambda each: each == account):
            wanted = {(each, seq) for each, seq in everything if includes(each)}
            eventually(f"{name} has its own", lambda: wanted <= set(site.receivers[name].notes))
            assert {each for each, _ in site.receivers[name].notes} == {each for each, _ in wanted}, name


@claims
def figures(sites):
    """D6 The operator's port shows the state, lag and last failure of a failing receiver, and none waits afterwards."""
    for site in sites:
        notes, account = site.receivers["notes"], site.accounts[0]
        failed = site.calls("notes", "failed")
        notes.fault("500")
        site.write(account)

        def fails(state):
            return (state["waiting"], state["failing"], state["failure"], state["lagSeconds"] > 1) == (1, 1, "status.500", True)

        eventually(lambda: f"it fails: {site.states('notes')}", lambda: all(map(fails, site.states("notes"))))
        assert not any(state["isOff"] for state in site.states("notes"))
        # Two servers that have tried the account save their figures in turn.
        eventually("the command shows it", lambda: site.listed("notes")["failing"] == 1)
        for figure, least in ("accounts_failing", 1), ("accounts_waiting", 1), ("lag_seconds", 2):
            eventually(f"the metrics show {figure}", lambda: site.figure(figure, "notes") >= least)
        assert site.calls("notes", "failed") > failed
        for name in "main", "other":
            assert site.figure("accounts_failing", name) == 0 and site.states(name)[0]["failing"] == 0, name
        notes.fault("410")
        failed = site.calls("notes", "failed")
        site.command("webhook", "resume", "notes")
        eventually("it is off", lambda: site.figure("off", "notes") and site.listed("notes")["isOff"])
        for state in site.listed("notes"), *site.states("notes"):
            assert state["isOff"] and state["failure"] == "status.410", state
        assert site.calls("notes", "failed") > failed
        taken = site.calls("notes", "taken")
        notes.fault("")
        site.command("webhook", "resume", "notes")

        def recovered(state):
            return (state["waiting"], state["failing"], state["lagSeconds"], state["isOff"]) == (0, 0, 0, False)

        eventually(lambda: f"it works: {site.states('notes')}", lambda: all(map(recovered, site.states("notes"))))
        assert site.wrote[account] in notes.seqs(account)
        for figure in "accounts_waiting", "accounts_failing", "lag_seconds", "off":
            eventually(f"{figure} is zero", lambda: site.figure(figure, "notes") == 0)
        assert site.calls("notes", "taken") > taken
        assert site.figure("duration_seconds_count", "notes") > 0


@claims
def failing_hook(sites):
    """D4 D7 A hook that fails defers the group, the log says why, and the server does not follow a redirect."""
    for site in sites:
        gate = site.receivers["gate"]

        def defers(failure):
            [error] = site.write(site.accounts[1])["notCreated"].values()
            assert error["type"] == "serverFail", error
            pattern = rf"failure=\"?{re.escape(failure)}\"? hook=\S+/gate\b\S* .*willApply failed"
            eventually(f"the log has {failure}", lambda: any(re.search(pattern, server.said) for server in site.servers))

        for fault, failure in ("redirect", "redirected"), ("401", "status.401"):
            gate.fault(fault)
            defers(failure)
        assert not (gate.folder / "redirected").exists()
        gate.fault("")
        gate.program.kill()
        defers("unreachable")
        gate.start()
        assert site.write(site.accounts[1])["created"]


@claims
def long_answers(sites):
    """D7 A hook's answer of more than 1 MB defers the group; a receiver's counts by its status."""
    for site in sites:
        gate, notes, account = site.receivers["gate"], site.receivers["notes"], site.accounts[2]
        gate.fault(f"bytes={LIMIT + 1}")
        [error] = site.write(account)["notCreated"].values()
        assert error["type"] == "serverFail", error
        gate.fault(f"bytes={LIMIT}")
        assert site.write(account)["created"]
        gate.fault("")
        for count in LIMIT, LIMIT + 1, 8 * LIMIT:
            notes.fault(f"bytes={count}")
            site.write(account)
            site.write(account)
            eventually(f"{count} bytes", lambda: site.wrote[account] in notes.seqs(account))
        notes.fault("")
        seqs = notes.seqs(account)
        assert len(seqs) == len(set(seqs)), "a transaction is repeated after a long answer"


@claims
def secret_in_environment(sites):
    """D2 The secret in OPTIMIST_WEBHOOK_SECRET signs, and no log, list, error or printed setting has it."""
    for site in sites:
        # The receivers take only transactions that the secret has signed.
        assert site.receivers["main"].notes
        said = "".join(server.said for server in site.servers) + site.command("webhook", "list")
        said += "".join(site.admin("/metrics") + site.admin("/admin/api/webhooks"))
        option = "http://127.0.0.1:1/x?token=hidden-token"
        environment = {"OPTIMIST_WEBHOOK_SECRET": site.secret}
        status, printed, _ = run(
            "serve", "--print-configuration", "--webhook", option, "--hook", option, environment=environment)
        assert status == 0 and "http://127.0.0.1:1/x" in printed, printed
        said += printed
        for secret, words in (None, "OPTIMIST_WEBHOOK_SECRET"), ("whsec_abcdefg", "webhook secret"):
            status, out, err = run(
                "serve", "--port", "0", "--schema", site.folder / "schema.json", "--data", site.folder / "unused",
                "--webhook", option, environment={"OPTIMIST_WEBHOOK_SECRET": secret} if secret else {})
            assert status and words in err, (out, err)
            said += out + err
        for secret in site.secret.removeprefix("whsec_"), "hidden-token", "abcdefg":
            assert secret not in said, secret


@claims
def backups(sites):
    """D2 K1 A backup and its draft contain neither a webhook's secret nor a key, also in names."""
    for site in sites:
        folder = site.folder / "backups"
        folder.mkdir()
        names = set()
        while not any(name.endswith(".partial") for name in names):
            command = [OPTIMIST, "backup", folder / f"{len(names)}-taken", *site.place[:2]]
            with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL) as taking:
                while taking.poll() is None:
                    # The draft gets its name at the end, perhaps during this look.
                    with contextlib.suppress(FileNotFoundError):
                        for path in folder.rglob("*"):
                            names.add(path.name)
            assert taking.returncode == 0
        names |= {path.name for path in folder.rglob("*")}
        files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
        secrets = [site.secret.removeprefix("whsec_"), site.key.removeprefix("optk_"), "hidden-token"]
        if "--secret" in site.place:
            secrets.append(Path(site.place[site.place.index("--secret") + 1]).read_text().strip())
        for secret in secrets:
            assert not [name for name in names if secret in name], names
            assert files and not any(secret.encode() in content for content in files), "a backup has a secret"


if __name__ == "__main__":
    with webhooks.places(Site) as found:
        claims.run(found)
