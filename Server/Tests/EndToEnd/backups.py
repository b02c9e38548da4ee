# This source file is part of the Optimist open source project, under the MIT licence.
"""Shared by the tests of backups, for both stores."""

import json
import threading
import time
from collections import defaultdict

from form import form
from phones import Phone
from program import eventually, run
from pushing import Load

ROWS = form(2_000, 40_000, 200_000)


def fails(*arguments):
    """Runs a command that must fail with a message, and returns the message."""
    status, said, problem = run(*arguments)
    assert status == 1 and not said, (status, said, problem)
    return problem


def check(*place):
    """Asserts that a server's data is sound. Returns the output."""
    status, said, problem = run("check", *place)
    assert status == 0 and "is sound" in said, (said, problem)
    return said


def sign_up(server):
    status, _, said = server.ask("POST", "/auth/sign-up", {
        "email": "ann@example.org", "password": "correct horse battery", "device": {"id": "phone", "name": "Phone"}})
    assert status == 201, said


def begin(phones):
    """Waits until the phones' account is on the server: an earlier backup would lack the account."""
    for phone in phones:
        phone.until_open()
        phone.write()
    for phone in phones:
        phone.until_sent()


class Backups:
    """Consecutive backups with their start and end times. `name` is the prefix of their folders."""

    def __init__(self, name, *place):
        self._prefix, self._place = name, place
        self._times = []

    def take(self):
        begun = time.monotonic()
        status, said, problem = run("backup", self._name(len(self._times)), *self._place)
        assert status == 0 and ("It was checked" in said or "It was read back" in said), problem
        self._times.append((begun, time.monotonic()))

    def take_while(self, is_busy):
        """Takes at least one backup, and more while the condition holds."""
        self.take()
        while is_busy():
            self.take()

    def take_while_writes(self, phone, count):
        """Takes backups during a phone's writes."""
        writing = threading.Thread(target=phone.writes, args=(count,))
        writing.start()
        self.take_while(writing.is_alive)
        writing.join()

    def __len__(self):
        return len(self._times)

    @property
    def middle(self):
        """The middle backup, which probably has part of the rows. Returns its folder, and when it began and ended."""
        middle = len(self) // 2
        return self._name(middle), *self._times[middle]

    def _name(self, number):
        return self._prefix.with_name(f"{self._prefix.name}-{number + 1}")


def restored_under_load(folder, server, backups, held, restore):
    """Restores a backup of a server that receives batches, and syncs a phone with a server on it.

    `held` returns the living rows as account, id and content; `restore` replaces the data of a killed server with a
    backup, and starts a server on it.
    """

    def rows():
        found = defaultdict(dict)
        for account, row, content in held():
            found[account][row] = json.loads(content)["content"]
        return found

    with Load(server) as load:
        eventually("some pushes", lambda: load.count >= ROWS // 4)
        backups.take_while(lambda: load.count < ROWS)
    print(f"      {len(backups)} backups while {load.count} rows were pushed, {load.rate:.0f} in a second", flush=True)
    pusher = load.pushers[0]
    with Phone(folder / "loaded-phone", server, account=pusher.account) as phone:
        phone.until_open()

        def has_all():
            return {row: content for row, content, _ in phone.rows} == {
                row.replace("-", ""): content for row, content in pusher.rows.items()}

        eventually("the phone has all rows", has_all)
        phone.kill()
        server.kill()
        backup, begun, ended = backups.middle
        restore(backup)
        kept = load.judge(rows(), begun, ended)
        print(f"      the restored one has {kept} of them", flush=True)
        phone.start()
        phone.until_open()
        assert phone.write()
        phone.until_sent()
        account = pusher.grant["account_id"]
        eventually("all that the phone has", lambda: pusher.rows.items() <= rows()[account].items())
        assert len(rows()[account]) == len(pusher.rows) + 2, "the phone wrote two rows"
