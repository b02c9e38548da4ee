#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Measures a program that writes rows into many accounts with a service key, while devices are online.

    Benchmarks/Server/service_key.py [--rows 100000] [--accounts 1000] [--devices 100] [--rounds 4] [--workers 4]
                                     [--only embedded,postgres]

Each request writes into as many accounts as the server allows. Each device belongs to one of the accounts, keeps an
event stream open, and reads its rows at the end. The poke is measured from the moment when the program begins to send a
request until the device has read the event. OPTIMIST is the path of the command. PostgreSQL needs its programs.
"""

import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Scripts"), str(Path(__file__).parent)]
from servers import OPTIMIST, Cluster, Server, people  # noqa: E402

CORE = ["urn:ietf:params:jmap:core"]
ACCOUNTS_IN_SET = 8


def key(*place):
    """A new key that allows everything."""
    made = subprocess.run(
        [OPTIMIST, "key", "create", f"bench-{uuid.uuid4().hex[:8]}", "--scope", "write", *place], capture_output=True,
        text=True, check=True)
    return made.stdout.strip()


class Device(threading.Thread):
    """A device that listens, and notes when it hears of each state of its account."""

    def __init__(self, server, person):
        super().__init__(daemon=True)
        self.server, self.person, self.heard = server, person, queue.SimpleQueue()
        self.start()

    def run(self):
        connection = self.server.connect()
        connection.request("GET", "/jmap/eventsource?types=*&closeafter=no&ping=60", headers={
            "Authorization": f"Bearer {self.person.token}"})
        answer = connection.getresponse()
        while line := answer.readline():
            if line.startswith(b"data:"):
                state = json.loads(line[5:]).get("changed", {}).get(self.person.account, {}).get("todo")
                self.heard.put((time.perf_counter(), int(state.rsplit(".", 1)[1]) if state else 0))

    def until(self, seq, begun, seconds=120):
        """The time until it heard of a state or a later one."""
        while True:
            at, heard = self.heard.get(timeout=seconds)
            if heard >= seq:
                return at - begun


class Job:
    def __init__(self, server, token):
        self.server, self.token, self.local = server, token, threading.local()

    def send(self, method, path, body=None):
        if not hasattr(self.local, "connection"):
            self.local.connection = self.server.connect()
        self.local.connection.request(method, path, json.dumps(body) if body is not None else None, {
            "Content-Type": "application/json", "Authorization": f"Bearer {self.token}"})
        answer = self.local.connection.getresponse()
        text = answer.read()
        assert answer.status in (200, 201), (answer.status, text[:500])
        return json.loads(text)

    def jmap(self, calls):
        answers = self.send("POST", "/jmap", {"using": CORE, "methodCalls": [
            [method, arguments, str(number)] for number, (method, arguments) in enumerate(calls)]})["methodResponses"]
        refused = [answer for answer in answers if answer[0] == "error" or answer[1].get("notCreated")]
        assert not refused, refused[0]
        return [answer[1] for answer in answers]

    def account(self, number):
        email = f"{uuid.uuid4().hex[:12]}-{number}@example.org"
        return self.send("POST", "/service/accounts", {"email": email})["id"]

    def write(self, accounts, rows):
        """Writes rows into some accounts, and returns when it began and the new seqs."""
        begun = time.perf_counter()
        answers = self.jmap([("todo/set", {"accountId": account, "create": {
            f"r{number}": {"content": "A row of a usual length, such as a to-do has"} for number in range(rows)}})
            for account in accounts])
        return begun, {answer["accountId"]: int(answer["newState"].rsplit(".", 1)[1]) for answer in answers}


def measure(store, server, token, options):
    job = Job(server, token)
    persons = people(server, options.devices)
    devices = {person.account: Device(server, person) for person in persons}
    for device in devices.values():
        device.heard.get(timeout=120)
    with ThreadPoolExecutor(options.workers) as pool:
        accounts = [*devices, *pool.map(job.account, range(options.accounts - len(devices)))]
        parts = [accounts[start::(len(accounts) + ACCOUNTS_IN_SET - 1) // ACCOUNTS_IN_SET]
                 for start in range((len(accounts) + ACCOUNTS_IN_SET - 1) // ACCOUNTS_IN_SET)]
        rows, pokes = options.rows // options.accounts // options.rounds, []
        begun, before = time.perf_counter(), server.usage()[1]
        for _ in range(options.rounds):
            for start, seqs in pool.map(lambda part: job.write(part, rows), parts):
                pokes += [devices[account].until(seq, start) for account, seq in seqs.items() if account in devices]
        seconds = time.perf_counter() - begun
        written = rows * options.rounds * len(accounts)
        used = server.usage()[1] - before

        def count(account):
            return len(job.jmap([("todo/get", {"accountId": account, "ids": None, "properties": ["id"]})])[0]["list"])

        assert sum(pool.map(count, accounts)) == written, "rows are missing"
    connection = server.connect()
    for person in persons:
        status, answer = server.post(connection, "/jmap", json.dumps({"using": CORE, "methodCalls": [
            ["todo/get", {"accountId": person.account, "ids": None}, "0"]]}), person.token)
        got = json.loads(answer)["methodResponses"][0][1]["list"]
        assert status == 200 and len(got) == rows * options.rounds, "a device misses rows"
    pokes.sort()
    print(f"| {store} | {written:,} | {len(accounts):,} | {len(persons)} | {seconds:.1f} | {written / seconds:,.0f} | "
          f"{used:.1f} | {statistics.median(pokes) * 1000:.0f} | {pokes[int(len(pokes) * 0.99)] * 1000:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, number in [("rows", 100_000), ("accounts", 1000), ("devices", 100), ("rounds", 4), ("workers", 4)]:
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--only", default="embedded,postgres")
    options = parser.parse_args()
    print(f"Load {os.getloadavg()[0]:.1f}\n")
    print("| store | rows | accounts | devices | s | rows/s | server's CPU, s | poke, median, ms | poke, p99, ms |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    if "embedded" in options.only:
        with tempfile.TemporaryDirectory(prefix="optimist-key-") as folder, Server("--data", f"{folder}/data") as server:
            measure("embedded", server, key("--data", f"{folder}/data"), options)
    if "postgres" in options.only:
        with Cluster() as cluster, Server.shared(cluster) as server:
            measure("PostgreSQL", server, key("--database", cluster.url, "--secret", str(cluster.secret)), options)


if __name__ == "__main__":
    main()
