# This source file is part of the Optimist open source project, under the MIT licence.
"""Servers for programs with service keys, on a directory and on PostgreSQL. It starts servers with $OPTIMIST."""

import contextlib
import json
import sys
import tempfile
import uuid
from pathlib import Path
from urllib.parse import urlsplit

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[3] / "Scripts")]
import writers  # noqa: E402
from guides import blocks  # noqa: E402
from program import Program, run  # noqa: E402
from testing.postgres import Postgres, programs  # noqa: E402
from writers import enter  # noqa: E402

GUIDE = "WriteFromYourBackend.md"
CORE = "urn:ietf:params:jmap:core"
SCHEMA = {"id": "lists", "version": 1, "types": {
    "list": {"@space": {"column": "space"}, "title": {"type": "string", "required": True}, "space": {"type": "ref"}},
    "note": {"text": {"type": "string"}}, **json.loads(blocks(GUIDE, "json")[0])}}
NEWS = str(uuid.uuid4())
ERRORS = []


def ask(*arguments, **more):
    """As the writers' `ask`. Keeps the errors."""
    status, answer = writers.ask(*arguments, **more)
    if status >= 400 or "error" in str(answer):
        ERRORS.append(json.dumps(answer))
    return status, answer


class Site:
    """Servers with the same data. `place` is the option that names the data."""

    def __init__(self, folder, *place, count=1):
        self.place, self.keys = place, []
        schema = Path(folder, "schema.json")
        schema.write_text(json.dumps(SCHEMA))
        options = ["--port", "0", "--admin-port", "0", "--log-level", "trace", "--schema", str(schema), *place]
        self.servers = [Program("serve", *options) for _ in range(count)]
        self.ports = [urlsplit(server.find(r"serves (http://[^ ]+)")).port for server in self.servers]
        self.port = self.ports[0]
        self.ann = enter(self.port, "sign-up", "ann@example.org", "ann")
        self.bob = enter(self.port, "sign-up", "bob@example.org", "bob")
        self.command("space", "create", "--public", "--id", NEWS, "--owner", "ann@example.org", "--name", "News")

    def command(self, *arguments):
        status, out, err = run(*arguments, *self.place)
        assert status == 0, (arguments, out, err)
        return out.strip()

    @property
    def environment(self):
        """The variables that name the data for commands without options."""
        if self.place[0] == "--data":
            return {"OPTIMIST_DATA": self.place[1]}
        return {"OPTIMIST_DATABASE": self.place[1], "OPTIMIST_SECRET": Path(self.place[3]).read_text().strip()}

    def key(self, name, *options, scope="write"):
        key = self.command("key", "create", name, "--scope", scope, *options)
        assert key.startswith("optk_") and len(key) == 48, key
        self.keys.append(key)
        return key

    def jmap(self, key, method, account, port=None, **arguments):
        """The status of a plain JMAP request, and the answer to its call."""
        status, answer = ask(port or self.port, "POST", "/jmap", {
            "using": [CORE], "methodCalls": [[method, {"accountId": account, **arguments}, "0"]]}, key)
        return status, (answer["methodResponses"][0][1] if status == 200 else answer)

    def close(self):
        for server in self.servers:
            server.kill()


@contextlib.contextmanager
def places():
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        sites = [Site(folder, "--data", f"{folder}/data")]
        stack.callback(sites[0].close)
        if programs():
            cluster, secret = stack.enter_context(Postgres()), Path(folder, "secret")
            secret.write_text(run("secret")[1])
            sites.append(Site(folder, "--database", cluster.url, "--secret", str(secret), count=2))
            stack.callback(sites[1].close)
        yield sites
