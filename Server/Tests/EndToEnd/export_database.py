# This source file is part of the Optimist open source project, under the MIT licence.
"""Exports of an account from a PostgreSQL database: to a slow reader, and from an earlier version's tables."""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from backup_database import SharedServer  # noqa: E402
from backups import fails  # noqa: E402
import clusters  # noqa: E402
from claims import Claims  # noqa: E402
from clusters import Node  # noqa: E402
from program import OPTIMIST, PATIENCE, eventually  # noqa: E402
from pushing import Pusher  # noqa: E402

# More bytes than a pipe holds.
PUSHES = 4
claims = Claims()


@claims
def pauses(folder):
    """O8 an export into a paused pager is complete, and holds no transaction during the pause."""
    with Node() as node, SharedServer(folder, node.url) as server:
        server.until_up()
        pusher = Pusher(server.port, "ann")
        pusher.start()
        eventually("some pushes", lambda: len(pusher.pushes) >= PUSHES)
        pusher.stop()
        with subprocess.Popen(
                [OPTIMIST, "account", "export", "ann@example.org", "--database", node.url],
                stdout=subprocess.PIPE, text=True, env=os.environ) as export:
            first = export.stdout.readline()
            eventually("no snapshot is held", lambda: not node.sql(
                "SELECT pid FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"))
            assert export.poll() is None, "it has more to print than a pipe holds"
            lines = [first, *export.stdout]
            assert export.wait(PATIENCE) == 0
        assert "account" in json.loads(first), first
        assert json.loads(lines[-1]) == {"end": {"identities": 0, "sessions": 1, "memberships": 0, "events": 0, "rows": len(pusher.rows)}}, lines[-1]


@claims
def earlier_tables(folder):
    """O8 an export of an earlier version's tables changes nothing, and names the command that migrates them."""
    folder = folder / "earlier"
    folder.mkdir()
    with Node() as node, SharedServer(folder, node.url) as server:
        server.until_up()
        server.kill()
        node.sql("UPDATE optimist_settings SET value = '0' WHERE name = 'version'")
        problem = fails("account", "export", "ann@example.org", "--database", node.url)
        assert "earlier version" in problem and "--migrate-only" in problem, problem
        assert node.sql("SELECT value FROM optimist_settings WHERE name = 'version'") == [["0"]]


if __name__ == "__main__":
    clusters.run(claims, "O8 an account in a database is exported.")
