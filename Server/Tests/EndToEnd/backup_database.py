# This source file is part of the Optimist open source project, under the MIT licence.
"""A backup of a PostgreSQL database taken while phones write, its restore into another database, and refusals."""

import stat
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from backups import Backups, begin, check, fails, restored_under_load, sign_up  # noqa: E402
import clusters  # noqa: E402
from claims import Claims  # noqa: E402
from clusters import Node  # noqa: E402
from form import form  # noqa: E402
from phones import Phone, Server, settle  # noqa: E402
from program import Program, run  # noqa: E402
from shared_site import prepare  # noqa: E402

WRITES = form(100, 500, 5_000)
claims = Claims()


class SharedServer(Server):
    """`optimist serve` on a database, which may change between starts."""

    def __init__(self, folder, database):
        self.url = database
        self.options = prepare(folder)
        super().__init__(folder)

    def start(self, environment=None):
        self.program = Program(
            "serve", "--port", self.port, "--database", self.url, *self.options, environment=environment)


def another(node, name):
    """The URL of a new, empty database of the cluster."""
    node.run("createdb", "--host", str(node.folder), "--username", "optimist", name)
    return node.url.replace("/optimist?", f"/{name}?")


@claims
def restored(folder):
    """O6 O11 L3 a backup taken while phones write is restored into another database, where the phones agree again."""
    with Node() as node, SharedServer(folder, node.url) as server:
        server.until_up()
        with Phone(folder / "a", server) as a, Phone(folder / "b", server, seed=1) as b:
            begin([a, b])
            backups = Backups(folder / "backup", "--database", node.url)
            backups.take_while_writes(a, WRITES)
            backup, *_ = backups.middle
            for file in backup, *backup.iterdir():
                assert not stat.S_IMODE(file.stat().st_mode) & 0o077, file
            settle(server, [a, b])
            expected = server.rows()
            server.kill()
            assert "already has a server's tables" in fails("restore", backup, "--database", node.url)
            server.url = another(node, "later")
            status, said, problem = run("restore", backup, "--database", server.url)
            assert status == 0 and "a new epoch" in said, problem
            said = check("--database", server.url)
            assert "CREATE EXTENSION amcheck" in said, said
            # The data contains its schema (O13).
            server.options = server.options[server.options.index("--secret"):]
            server.start()
            server.until_up()
            settle(server, [a, b])
            assert server.rows() == expected, "what the phones have is not in the database"
            node.run("psql", "--host", str(node.folder), "--username", "optimist", "--dbname", "later", "--command",
                     "CREATE EXTENSION amcheck")
            said = check("--database", server.url)
            assert "not checked" not in said, said


@claims
def restored_loaded(folder):
    """O6 O11 L3 a backup under load has each push completely or not at all, and a device syncs with it."""
    folder = folder / "loaded"
    folder.mkdir()
    with Node() as node, SharedServer(folder, node.url) as server:
        server.until_up()

        def put_back(backup):
            check("--database", node.url)
            server.url = another(node, "later")
            status, _, problem = run("restore", backup, "--database", server.url)
            assert status == 0, problem
            check("--database", server.url)
            server.start()
            server.until_up()

        def held():
            return node.sql("SELECT account_id, id, content FROM optimist_rows WHERE generation % 2 = 1", "later")

        restored_under_load(folder, server, Backups(folder / "backup", "--database", node.url), held, put_back)


@claims
def refused(folder):
    """O7 O11 the check names contradictory rows; such a database is not copied, and a missing one is reported."""
    with Node() as node:
        assert "does not contain the data of a server" in fails("check", "--database", node.url)
        assert "does not contain a backup" in fails("restore", folder / "nowhere", "--database", node.url)
        with SharedServer(folder, node.url) as server:
            server.until_up()
            sign_up(server)
            check("--database", node.url)
            node.sql("INSERT INTO optimist_rows (account_id, type, id, generation, seq, ordinal, born_seq, content) "
                     "SELECT account_id, 'todo', 'x', 1, 99, 0, 99, 'no JSON' FROM optimist_accounts")
            status, said, _ = run("check", "--database", node.url)
            assert status == 1 and "later than its account's last write" in said and "cannot be read" in said, said
            assert "not sound" in fails("backup", folder / "unsound", "--database", node.url)
            assert not [file for file in folder.iterdir() if "unsound" in file.name]
        assert "cannot be reached" in fails("backup", folder / "away", "--database", f"postgres:///none?host={folder}")
        status, _, problem = run("check", "--database", node.url, "--data", folder)
        assert status == 64 and "not both" in problem, problem


if __name__ == "__main__":
    clusters.run(claims, "O11 a database is backed up and restored.")
