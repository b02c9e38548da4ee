# This source file is part of the Optimist open source project, under the MIT licence.
"""Three servers on one PostgreSQL with a standby, phones behind a load balancer, and writers that choose servers."""

import json
import random
import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from balancer import Balancer
from clusters import Pair
from form import form
from phones import Phone, Server, email, free_port, settle
from program import Program, eventually, run
from writers import Writer, enter, judge

PHONES = form(6, 6, 50)
PHONES_OF_AN_ACCOUNT = form(3, 3, 5)
WRITERS = form(3, 4, 8)
WRITERS_OF_AN_ACCOUNT = form(3, 2, 2)
# The pause between a person's writes, in seconds: fifty phones also share the machine.
PAUSE = form(0.1, 0.1, 1)
SERVERS = 3
SCHEMA = {
    "id": "planner", "version": 1, "minClientVersion": 1, "types": {
        "todo": {
            "content": {"type": "string", "required": True, "maxBytes": 65_536}, "date": {"type": "string"},
            "priority": {"type": "int"}, "done": {"type": "bool"}, "alarm": {"type": "date"},
        },
        "tally": {"name": {"type": "string"}, "count": {"type": "counter"}},
    },
}


def prepare(folder):
    """Writes the files that servers of one database share into a folder. Returns the options that name them."""
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    (folder / "secret").write_text(run("secret")[1])
    (folder / "secret").chmod(0o600)
    return ["--schema", folder / "schema.json", "--secret", folder / "secret"]


class Shared:
    """One of the servers, which may be killed, stopped, and restarted at the same address."""

    def __init__(self, url, options):
        self.port = free_port()
        self._options = ["--database", url, *options]
        self.start()

    def start(self):
        self.program = Program("serve", "--port", self.port, *self._options)

    def kill(self):
        self.program.kill()

    def stop(self):
        self.program.signal(signal.SIGSTOP)

    def go_on(self):
        self.program.signal(signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.__exit__()


class Entrance(Server):
    """All servers together, as a client of the load balancer sees them."""

    def __init__(self, balancer):
        self.port, self._grants = balancer.port, {}
        self.address = f"http://127.0.0.1:{self.port}"

    def admit(self, account, grant):
        """Uses this grant to query the servers for an account."""
        self._grants[account] = grant


class Person(threading.Thread):
    """Writes on a phone until it is stopped."""

    def __init__(self, phone):
        super().__init__(daemon=True)
        self.phone, self.count, self.problem = phone, 0, None
        self._enough = threading.Event()

    def run(self):
        try:
            while not self._enough.wait(PAUSE):
                assert self.phone.write(), "a write failed"
                self.count += 1
        except Exception as problem:
            self.problem = problem

    def stop(self):
        self._enough.set()
        self.join()
        if self.problem:
            raise self.problem


class Site:
    """All parts, started in order and ended in reverse."""

    def __init__(self, folder, seed, heals):
        """`heals`: whether writers resend what the database has lost, as devices do."""
        self.folder, self.heals = Path(folder), heals
        self.chance = random.Random(seed)
        self.writers, self.persons, self.written_on_phones = [], [], 0
        self._stack = ExitStack()
        try:
            self._start(seed)
        except BaseException:
            self._stack.close()
            raise

    def _start(self, seed):
        self.folder.mkdir()
        options = prepare(self.folder)
        self.pair = self._stack.enter_context(Pair())
        self.servers = [self._stack.enter_context(Shared(self.pair.url, options)) for _ in range(SERVERS)]
        for server in self.servers:
            server.program.find("Optimist (serves)")
        self.balancer = self._stack.enter_context(Balancer([server.port for server in self.servers]))
        self.entrance = Entrance(self.balancer)
        self.entrance.program = self.servers[0].program
        self.entrance.until_up()
        self.phone_accounts = [f"phones-{number}" for number in range(PHONES // PHONES_OF_AN_ACCOUNT)]
        for account in self.phone_accounts:
            self.entrance.admit(account, enter(self.servers[0].port, "sign-up", email(account), "judge"))
        self.phones = [
            self._stack.enter_context(Phone(
                self.folder / f"phone-{number}", self.entrance, seed + number, account=account, durability="normal"))
            for number, account in enumerate(self.phone_accounts * PHONES_OF_AN_ACCOUNT)
        ]
        for phone in self.phones:
            phone.until_open()
            phone.write()
        for phone in self.phones:
            phone.until_sent()
        self._sign_in_writers()

    def _sign_in_writers(self):
        ports = [server.port for server in self.servers]
        for number in range(WRITERS):
            account, place = divmod(number, WRITERS_OF_AN_ACCOUNT)
            way = "sign-in" if place else "sign-up"
            grant = enter(ports[number % SERVERS], way, email(f"writers-{account}"), f"writer-{number}")
            self.writers.append(Writer(f"w{number}", ports[number % SERVERS:] + ports[:number % SERVERS], grant, self.heals))
        for writer in self.writers:
            writer.start()

    # MARK: writing

    def start_persons(self):
        self.persons = [Person(phone) for phone in self.phones]
        for person in self.persons:
            person.start()

    def stop_persons(self):
        for person in self.persons:
            person.stop()
            self.written_on_phones += person.count
        self.persons = []

    def until_all_have_written(self, more=3):
        """Waits until each writer has a few acknowledged pushes that began after this call."""
        wanted = {writer: len(writer.writes) + more + 1 for writer in self.writers}
        eventually("all writers write", lambda: all(
            writer.problem or len(writer.writes) >= count for writer, count in wanted.items()))

    @property
    def acknowledged(self):
        return sum(len(writer.writes) for writer in self.writers)

    def counted(self, what):
        return sum(writer.counts[what] for writer in self.writers)

    # MARK: the outcome

    def held(self, node):
        """The living rows of all accounts in a database: account, type and id, with their content."""
        return {tuple(row[:3]): tuple(row[3:]) for row in node.sql(
            "SELECT account_id, type, id, content, hidden FROM optimist_rows WHERE generation % 2 = 1")}

    def sessions(self, node):
        """The active sessions of phones and writers."""
        return set(map(tuple, node.sql(
            "SELECT account_id, session_id FROM optimist_sessions WHERE ended IS NULL AND device_name <> 'judge'")))

    def settle(self):
        """Ends all writing, and compares the database with the acknowledged writes. Returns the writers' number of
        to-dos, and the seconds until the phones had sent and received everything."""
        self.stop_persons()
        for writer in self.writers:
            writer.stop()
        started = time.monotonic()
        for account in self.phone_accounts:
            settle(self.entrance, [phone for phone in self.phones if phone.account == account])
        seconds = time.monotonic() - started
        for server in self.servers:
            assert server.program.is_running, server.program.said
        return sum(
            judge(self.writers[first:first + WRITERS_OF_AN_ACCOUNT], self.pair.primary)
            for first in range(0, WRITERS, WRITERS_OF_AN_ACCOUNT)), seconds

    def write_again(self):
        """Restarts stopped writers."""
        self.writers = [writer.next() for writer in self.writers]
        for writer in self.writers:
            writer.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()
