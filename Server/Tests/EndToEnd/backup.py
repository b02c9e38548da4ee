# This source file is part of the Optimist open source project, under the MIT licence.
"""A backup that is taken while phones write, restored to another server; damage that is found; and what is refused."""

import os
import sqlite3
import stat
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from form import form  # noqa: E402
from phones import Phone, Server, settle  # noqa: E402
from program import run  # noqa: E402

WRITES = form(200, 1_000, 20_000)
claims = Claims()


def fails(*arguments):
    """Runs a command that must fail with a sentence, and returns that."""
    status, said, problem = run(*arguments)
    assert status == 1 and not said, (status, said, problem)
    return problem


def check(folder):
    status, said, problem = run("check", "--data", folder)
    assert status == 0 and "is sound" in said, (said, problem)


@claims
def restored(folder):
    """O6 L3 a backup taken while phones write is sound; after its restore they agree on all that they wrote."""
    server = Server(folder / "server")
    with server:
        server.until_up()
        with Phone(folder / "a", server) as a, Phone(folder / "b", server, seed=1) as b:
            for phone in a, b:
                phone.until_open()
                phone.write()
            # A server with an earlier backup would not know their account.
            for phone in a, b:
                phone.until_sent()
            writing = threading.Thread(target=lambda: [a.write() for _ in range(WRITES)])
            writing.start()
            backups = 0
            while writing.is_alive() or not backups:
                backups += 1
                status, said, problem = run("backup", folder / f"backup-{backups}", "--data", folder / "server")
                assert status == 0 and "It was checked" in said, problem
            writing.join()
            for number in range(20):
                assert b.write()
            settle(server, [a, b])
            expected = server.rows()
            server.program.kill()
            check(folder / "server")
            # The middle one of the backups: it has a part of the rows.
            backup = folder / f"backup-{(backups + 1) // 2}"
            os.rename(folder / "server", folder / "lost")
            status, said, problem = run("restore", backup, "--data", folder / "server")
            assert status == 0, problem
            check(folder / "server")
            with closing(sqlite3.connect(folder / "server" / "optimist.sqlite")) as database:
                [held] = database.execute("SELECT count(*) FROM optimist_rows").fetchone()
            server.start()
            server.until_up()
            settle(server, [a, b])
            assert server.rows() == expected, "what the phones have is not on the server"
            print(f"      {backups} backups during {WRITES} writes; the restored one had {held} of {len(expected)}", flush=True)


@claims
def closed_to_others(folder):
    """O6 a backup can be read by its owner only, has the keys and the schema, and replaces nothing."""
    with Server(folder / "closed") as server:
        server.until_up()
        status, _, problem = run("backup", folder / "copy", "--data", folder / "closed")
        assert status == 0, problem
        names = sorted(file.name for file in (folder / "copy").iterdir())
        assert names == ["keys.json", "optimist.sqlite", "schema.json"], names
        for file in folder / "copy", *(folder / "copy").iterdir():
            assert not stat.S_IMODE(file.stat().st_mode) & 0o077, file
        assert "is there already" in fails("backup", folder / "copy", "--data", folder / "closed")
        assert "is there already" in fails("restore", folder / "copy", "--data", folder / "closed")
        assert not [file for file in folder.iterdir() if "partial" in file.name]
    assert "no server's data" in fails("backup", folder / "copy-2", "--data", folder / "nowhere")
    assert "no backup" in fails("restore", folder / "nowhere", "--data", folder / "new")
    assert not (folder / "copy-2").exists() and not (folder / "new").exists()


@claims
def damage(folder):
    """O7 check names damage and rows that contradict each other, changes nothing, and a damaged backup is not restored."""
    with Server(folder / "damaged") as server:
        server.until_up()
        status, _, said = server.ask("POST", "/auth/sign-up", {
            "email": "ann@example.org", "password": "correct horse battery", "device": {"id": "phone", "name": "Phone"}})
        assert status == 201, said
    check(folder / "damaged")
    file = folder / "damaged" / "optimist.sqlite"
    status, _, problem = run("backup", folder / "before", "--data", folder / "damaged")
    assert status == 0, problem
    with closing(sqlite3.connect(file)) as database:
        database.execute(
            "INSERT INTO optimist_rows (account_id, type, id, generation, seq, ordinal, born_seq, content) "
            "SELECT account_id, 'todo', 'x', 1, 99, 0, 99, 'no JSON' FROM optimist_accounts")
        database.execute(
            "INSERT INTO optimist_index (account_id, type, name, key, id) "
            "SELECT account_id, 'todo', 'i', 'k', 'gone' FROM optimist_accounts")
        database.commit()
    status, said, _ = run("check", "--data", folder / "damaged")
    assert status == 1, said
    for sentence in "later than its account's last write", "An index names a row", "cannot be read":
        assert sentence in said, said
    assert "not sound" in fails("backup", folder / "after", "--data", folder / "damaged")
    assert not (folder / "after").exists()
    copy = folder / "before" / "optimist.sqlite"
    with open(copy, "r+b") as bytes_of:
        bytes_of.seek(4096)
        bytes_of.write(b"\x55" * 3 * 4096)
    problem = fails("restore", folder / "before", "--data", folder / "new")
    assert "not sound" in problem or "cannot be read" in problem, problem
    assert not (folder / "new").exists()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
