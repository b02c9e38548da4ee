# This source file is part of the Optimist open source project, under the MIT licence.
"""What a killed server reports to the app, and how clients see the app's hook decisions."""

import os
import random
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims, Skip  # noqa: E402
from clusters import Node, programs  # noqa: E402
from form import form  # noqa: E402
from phones import Server  # noqa: E402
from program import OPTIMIST, PATIENCE, Program, eventually, run  # noqa: E402
from pushing import Device, Pusher  # noqa: E402

HOOKS = os.environ.get("OPTIMIST_HOOKS") or Path(OPTIMIST).with_name("HookProcess")
KILLS = form(5, 200, 400)
KILLS_ON_A_DATABASE = form(3, 50, 100)
ACCOUNTS = 2
# Rows per push.
ROWS = 5
claims = Claims()


class HookedServer(Server):
    """A `HookProcess`. Each process writes its reports to the app into a separate file."""

    def __init__(self, folder, place=None, deadline=PATIENCE):
        """`place` is the URL of a database if the data is in one. `deadline` is the hook's, in seconds."""
        folder.mkdir()
        self.lives, self.place, self.secret = [], place or folder / "data", run("secret")[1].strip()
        self.deadline = deadline
        super().__init__(folder)

    def start(self, environment=None):
        self.lives.append(self.folder / f"told-{len(self.lives)}")
        self.lives[-1].touch()
        self.program = Program(
            self.place, self.port, self.lives[-1], self.deadline, program=HOOKS,
            environment={"OPTIMIST_SECRET": self.secret})

    def until_up(self):
        self.program.find(r"serving (\d+)")

    def told(self, life=-1):
        """What one process reported to the app: account and seq, in order."""
        lines = self.lives[life].read_text().splitlines()
        return [(account, int(seq)) for account, seq in (line.split() for line in lines)]

    def positions(self):
        """The noted position of the reports, and the last transaction, by account."""
        return {account: (int(reported), int(seq)) for account, reported, seq in self.select(
            "SELECT account_id, reported, seq FROM optimist_accounts")}

    def select(self, sql):
        file = self.place / "optimist.sqlite"
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            return database.execute(sql).fetchall()


class SharedHookedServer(HookedServer):
    """The same with its data in a database."""

    def __init__(self, folder, node):
        self.node = node
        super().__init__(folder, node.url)

    def kill(self):
        """The database ends a killed server's connections a moment later."""
        super().kill()
        eventually("its connections have ended", lambda: not self.node.sql(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"))

    def select(self, sql):
        return self.node.sql(sql)


def wait_for_death(server, chance):
    """Returns when the server should die: while it starts, while it serves, or right after a report to the app."""
    moment = chance.choice(["starts", "serves", "tells"])
    if moment == "starts":
        return time.sleep(chance.uniform(0, 0.5))
    server.until_up()
    if moment == "serves":
        return time.sleep(chance.uniform(0, 0.3))
    count = chance.randint(1, 25)
    eventually(f"{count} are told", lambda: len(server.told()) >= count)


def judge_life(told, positions, before):
    """Asserts that a process starts after each account's noted position and skips nothing."""
    for account, (position, _) in positions.items():
        assert position <= before[account], f"{position} is noted, and the app was told of {before[account]}"
        seqs = [seq for name, seq in told if name == account]
        assert seqs == list(range(position + 1, position + 1 + len(seqs))), (position, seqs)
        before[account] = max(before[account], *seqs, 0)


def kill_again_and_again(server, kills):
    """Kills a server repeatedly while devices push, and checks what each process reported to the app."""
    chance = random.Random(5)
    server.until_up()
    pushers = [Pusher(server.port, f"hooked-{number}", ROWS) for number in range(ACCOUNTS)]
    for pusher in pushers:
        pusher.start()
    # The first process has reported nothing when it begins, but may have by the time it is asked.
    positions = {pusher.grant["account_id"]: (0, 0) for pusher in pushers}
    told_before, repeated = defaultdict(int), 0
    for _ in range(kills):
        wait_for_death(server, chance)
        server.kill()
        judge_life(server.told(), positions, told_before)
        positions = server.positions()
        repeated += sum(told_before[account] - position for account, (position, _) in positions.items())
        server.start()
    for pusher in pushers:
        pusher.stop()
    eventually("all is noted", lambda: all(reported == seq for reported, seq in server.positions().values()))
    server.kill()
    judge_life(server.told(), positions, told_before)
    told = {(account, seq) for life in range(len(server.lives)) for account, seq in server.told(life)}
    for pusher in pushers:
        account, pushes = pusher.grant["account_id"], len(pusher.pushes)
        assert {seq for name, seq in told if name == account} == set(range(1, pushes + 1)), (account, pushes)
    print(f"      {len(told)} transactions, {kills} kills, {repeated} told again", flush=True)


@claims
def told_whenever_killed(folder):
    """G5 however often a server is killed, each transaction is reported in order from the noted position."""
    with HookedServer(folder / "killed") as server:
        kill_again_and_again(server, KILLS)


@claims
def told_from_a_database(folder):
    """G5 on a database, each process of a server continues from the position noted there."""
    if not programs():
        raise Skip("there is no PostgreSQL on this machine")
    with Node() as node, SharedHookedServer(folder / "shared", node) as server:
        kill_again_and_again(server, KILLS_ON_A_DATABASE)


class Client:
    """A device that writes each to-do as a separate group."""

    def __init__(self, server):
        self._device, self._push = Device(server.port, "ann@example.org", "client"), 0

    def jmap(self, method, **arguments):
        """Returns the status of the answer, and the method's answer."""
        self._push += 1
        status, answer = self._device.ask(self._push, method, patience=PATIENCE, **arguments)
        return status, answer["methodResponses"][0][1]

    def create(self, *contents):
        """Writes a to-do with each content. Returns the ids and the answer."""
        rows = self._device.new_rows(contents)
        status, said = self.jmap("todo/set", create=rows)
        assert status == 200, (status, said)
        return [*rows], said

    def stored(self):
        return {row["id"]: row["content"] for row in self.jmap("todo/get", ids=None)[1]["list"]}


@claims
def refuses_and_amends(folder):
    """G4 over HTTP a refused row has the app's code, an amended one is returned, and others are stored."""
    with HookedServer(folder / "asked") as server:
        server.until_up()
        client = Client(server)
        (refused, amended, failed, other), said = client.create("refuse", "amend", "fail", "tea")
        error = said["notCreated"][refused]
        assert (error["type"], error["code"], error["properties"]) == ("forbidden", "refused", ["content"]), error
        assert said["notCreated"][failed]["type"] == "serverFail", said
        assert said["created"][amended]["content"] == "amended" and "content" not in (said["created"][other] or {}), said
        assert client.stored() == {amended: "amended", other: "tea"}


@claims
def hangs(folder):
    """G4 over HTTP a hanging hook defers its row after the deadline, and the server keeps serving."""
    with HookedServer(folder / "hanging", deadline=2) as server:
        server.until_up()
        client = Client(server)
        begun = time.monotonic()
        [row], said = client.create("hang")
        took = time.monotonic() - begun
        assert said["notCreated"][row]["type"] == "rateLimit" and took >= 2, (took, said)
        # A machine that stalls for that long defers this row as well.
        [row] = eventually("the server serves on", lambda: client.create("tea")[1].get("created"))
        assert client.stored() == {row: "tea"}
        print(f"      answered after {took:.1f} s", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
