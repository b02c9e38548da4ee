# This source file is part of the Optimist open source project, under the MIT licence.
"""A backup taken while phones write, and its restore to another server; damaged backups; refusals."""

import os
import sqlite3
import stat
import sys
import tempfile
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from backups import Backups, begin, check, fails, restored_under_load, sign_up  # noqa: E402
from claims import Claims  # noqa: E402
from form import form  # noqa: E402
from phones import Phone, Server, settle  # noqa: E402
from program import run  # noqa: E402

WRITES = form(200, 1_000, 20_000)
claims = Claims()


def restore(server, backup):
    """Replaces the data of a killed server with a backup. Both are sound."""
    check("--data", server.folder)
    os.rename(server.folder, server.folder.with_name(f"{server.folder.name}-lost"))
    status, _, problem = run("restore", backup, "--data", server.folder)
    assert status == 0, problem
    check("--data", server.folder)


def held(server):
    """The living rows of a server's file: account, id and content."""
    with closing(sqlite3.connect(server.database)) as database:
        return database.execute("SELECT account_id, id, content FROM optimist_rows WHERE generation % 2 = 1").fetchall()


@claims
def restored(folder):
    """O6 L3 a backup taken while phones write is sound; after its restore the phones agree on all they wrote."""
    server = Server(folder / "server")
    with server:
        server.until_up()
        with Phone(folder / "a", server) as a, Phone(folder / "b", server, seed=1) as b:
            begin([a, b])
            backups = Backups(folder / "backup", "--data", server.folder)
            backups.take_while_writes(a, WRITES)
            for number in range(20):
                assert b.write()
            settle(server, [a, b])
            expected = server.rows()
            server.kill()
            restore(server, backups.middle[0])
            kept = len(held(server))
            server.start()
            server.until_up()
            settle(server, [a, b])
            assert server.rows() == expected, "what the phones have is not on the server"
            print(f"      {len(backups)} backups during {WRITES} writes; the restored one had {kept} of {len(expected)}",
                  flush=True)


@claims
def restored_loaded(folder):
    """O6 L3 a backup under load has each push completely or not at all, and a device syncs with it."""
    with Server(folder / "loaded") as server:
        server.until_up()

        def put_back(backup):
            restore(server, backup)
            server.start()
            server.until_up()

        restored_under_load(
            folder, server, Backups(folder / "loaded-backup", "--data", server.folder), lambda: held(server), put_back)


@claims
def closed_to_others(folder):
    """O6 a backup is readable by its owner only, has the keys and the schema, and replaces nothing."""
    with Server(folder / "closed") as server:
        server.until_up()
        status, _, problem = run("backup", folder / "copy", "--data", folder / "closed")
        assert status == 0, problem
        names = sorted(file.name for file in (folder / "copy").iterdir())
        assert names == ["backup.json", "keys.json", "optimist.sqlite", "schema.json"], names
        for file in folder / "copy", *(folder / "copy").iterdir():
            assert not stat.S_IMODE(file.stat().st_mode) & 0o077, file
        assert "already contains files" in fails("backup", folder / "copy", "--data", folder / "closed")
        assert "the directory being copied" in fails("backup", folder / "closed/copy", "--data", folder / "closed")
        assert "already contains files" in fails("restore", folder / "copy", "--data", folder / "closed")
        assert not [file for file in folder.iterdir() if "partial" in file.name]
    assert "does not contain a server's data" in fails("backup", folder / "copy-2", "--data", folder / "nowhere")
    assert "does not contain a backup" in fails("restore", folder / "nowhere", "--data", folder / "new")
    assert not (folder / "copy-2").exists() and not (folder / "new").exists()


@claims
def damage(folder):
    """O7 the check names damage and contradictory rows and changes nothing; a damaged backup is not restored."""
    with Server(folder / "damaged") as server:
        server.until_up()
        sign_up(server)
    check("--data", folder / "damaged")
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
    assert "failed its check" in fails("backup", folder / "after", "--data", folder / "damaged")
    assert not (folder / "after").exists()
    copy = folder / "before" / "optimist.sqlite"
    with open(copy, "r+b") as bytes_of:
        bytes_of.seek(4096)
        bytes_of.write(b"\x55" * 3 * 4096)
    problem = fails("restore", folder / "before", "--data", folder / "new")
    assert "optimist.sqlite is damaged" in problem, problem
    assert not (folder / "new").exists()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
