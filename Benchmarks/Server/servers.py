# This source file is part of the Optimist open source project, under the MIT licence.
"""Servers and accounts for the load tests."""

import http.client
import json
import os
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from testing.postgres import Postgres

OPTIMIST = os.environ.get("OPTIMIST", "optimist")
USING = ["urn:ietf:params:jmap:core", "urn:x-optimist:rowsync"]


@dataclass
class Person:
    account: str
    token: str
    email: str


class Cluster(Postgres):
    """A PostgreSQL server with default durability, the secret of its Optimist servers, and pgbench."""

    def __init__(self):
        super().__init__(is_durable=True, settings=["shared_buffers=256MB", "max_wal_size=4GB"])
        self.secret = self.folder / "secret"
        self.secret.write_text(subprocess.run([OPTIMIST, "secret"], capture_output=True, text=True, check=True).stdout)

    def pgbench(self, connections, seconds):
        """Upserts rows as a push does, one per transaction. Returns transactions per second."""
        self.run("psql", self.url, "-qc", """
            CREATE TABLE IF NOT EXISTS bench (account_id text, type text, id text, generation bigint, seq bigint,
            ordinal bigint, born_seq bigint, content text, hidden text, PRIMARY KEY (account_id, type, id))""")
        script = self.folder / "upsert.sql"
        script.write_text("""\\set account random(1, 64)
\\set id random(1, 1000000000)
INSERT INTO bench VALUES ('a' || :account, 'todo', '00000000-0000-4000-8000-' || :id, 1, :id, 0, 1,
'{"id":"00000000-0000-4000-8000-000000000001","content":"A row of a usual length, such as a to-do has","@gen":1,"@seq":1}',
NULL) ON CONFLICT (account_id, type, id) DO UPDATE SET seq = excluded.seq, content = excluded.content;
""")
        script.chmod(0o644)
        said = self.run("pgbench", "-n", "-M", "prepared", "-c", str(connections), "-j", "2", "-T", str(seconds), "-f",
                        str(script), "-h", str(self.folder), "-U", "optimist", "optimist")
        return float(re.search(r"tps = ([\d.]+)", said)[1])


class Server:
    def __init__(self, *options):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.log = Path(self.folder.name) / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [OPTIMIST, "serve", "--port", "0", "--behind-proxy", "--log-level", "error", *options], stdout=log,
                stderr=subprocess.STDOUT)
        end = time.monotonic() + 60
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", self.log.read_text())):
            assert time.monotonic() < end and self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        self.address, self.port = found[0], int(found[1])

    @classmethod
    def embedded(cls):
        folder = tempfile.mkdtemp(prefix="optimist-load-")
        return cls("--data", f"{folder}/data")

    @classmethod
    def shared(cls, cluster):
        schema = cluster.folder / "schema.json"
        if not schema.exists():
            with cls.embedded() as sample:
                schema.write_text((Path(sample.process.args[-1]) / "schema.json").read_text())
        return cls("--database", cluster.url, "--secret", str(cluster.secret), "--schema", str(schema))

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)

    def post(self, connection, path, body, token=None, address=None):
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {}),
                   **({"X-Forwarded-For": address} if address else {})}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def usage(self):
        """The memory in MB, and the CPU time so far in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)
        self.folder.cleanup()


def people(server, count):
    """Signs people up. Each uses a different address, because the server limits sign-ups by address."""
    connection, found = server.connect(), []
    run = f"{time.time_ns():x}"
    for number in range(count):
        email = f"{run}-{number}@example.org"
        status, answer = server.post(connection, "/auth/sign-up", json.dumps({
            "email": email, "password": "correct horse battery",
            "device": {"id": f"load{number:06}", "name": "Load"}}), address=f"10.0.{number // 250}.{number % 250}")
        assert status == 201, answer
        grant = json.loads(answer)
        found.append(Person(grant["account_id"], grant["access_token"], email))
    return found


def push_body(person, worker, push, rows):
    create = {f"{worker:04x}{push:04x}-0000-4000-8000-{number:012x}": {
        "content": "A row of a usual length, such as a to-do has"} for number in range(rows)}
    return json.dumps({"using": USING, "methodCalls": [
        ["todo/set", {"accountId": person.account, "create": create}, "0"]]})
