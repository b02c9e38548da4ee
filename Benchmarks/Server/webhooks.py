#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Measures how fast a server sends transactions to one fast receiver.

    Benchmarks/Server/webhooks.py [--transactions 20000] [--accounts 200] [--only embedded,postgres]

A program writes the transactions, one row each, while no webhook is configured. Then the server starts with the webhook,
and the time is measured from its first call to its last. The receiver is a process that answers at once, and judges the
order afterwards. OPTIMIST is the path of the command. PostgreSQL needs its programs.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe, Process
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Scripts"), str(Path(__file__).parent)]
from servers import OPTIMIST, Cluster, Server  # noqa: E402
from service_key import ACCOUNTS_IN_SET, Job, key  # noqa: E402

LENGTH = re.compile(rb"content-length: (\d+)", re.I)
NUMBER = re.compile(rb'"account":"([^"]+)".*?"seq":(\d+)')
ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


class Receiver(asyncio.Protocol):
    """A receiver that only notes the account and the number of each transaction."""

    notes = []

    def connection_made(self, transport):
        self.transport, self.left = transport, b""

    def data_received(self, data):
        self.left += data
        while (head := self.left.find(b"\r\n\r\n")) >= 0:
            end = head + 4 + int(LENGTH.search(self.left, 0, head)[1])
            if len(self.left) < end:
                return
            self.notes.append((time.perf_counter(), *NUMBER.search(self.left, head).groups()))
            self.left = self.left[end:]
            self.transport.write(ANSWER)


def receive(pipe, count):
    """Runs in a separate process. Sends its port, and then the notes of `count` calls."""

    async def run():
        server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        while len(Receiver.notes) < count:
            await asyncio.sleep(0.05)
        pipe.send(Receiver.notes)

    asyncio.run(run())


def write(server, token, options):
    """Writes the transactions: each request has one for each of its accounts."""
    job = Job(server, token)
    with ThreadPoolExecutor(4) as pool:
        accounts = list(pool.map(job.account, range(options.accounts)))
        parts = [accounts[start:start + ACCOUNTS_IN_SET] for start in range(0, len(accounts), ACCOUNTS_IN_SET)]
        for _ in range(options.transactions // options.accounts):
            list(pool.map(lambda part: job.write(part, 1), parts))
    return options.transactions // options.accounts * options.accounts


def measure(store, place, options):
    """`place` are the options that name the data. The measured server has the same data."""
    with Server(*place) as server:
        count = write(server, key(*place[:4]), options)
    mine, its = Pipe()
    receiver = Process(target=receive, args=(its, count))
    receiver.start()
    port = mine.recv()
    with tempfile.NamedTemporaryFile("w") as secret:
        secret.write(subprocess.run([OPTIMIST, "webhook", "secret"], capture_output=True, text=True, check=True).stdout)
        secret.flush()
        with Server(*place, "--webhook", f"http://127.0.0.1:{port}/ secret={secret.name}") as server:
            before = server.usage()[1]
            assert mine.poll(1800), "not all transactions have arrived"
            notes, used = mine.recv(), server.usage()[1] - before
    receiver.join()
    seqs = defaultdict(list)
    for _, account, seq in notes:
        seqs[account].append(int(seq))
    assert all(found == list(range(1, len(found) + 1)) for found in seqs.values()), "the order is wrong"
    seconds = notes[-1][0] - notes[0][0]
    print(f"| {store} | {count:,} | {len(seqs):,} | {seconds:.1f} | {count / seconds:,.0f} | {used:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transactions", type=int, default=20_000)
    parser.add_argument("--accounts", type=int, default=200)
    parser.add_argument("--only", default="embedded,postgres")
    options = parser.parse_args()
    print(f"Load {os.getloadavg()[0]:.1f}\n")
    print("| store | transactions | accounts | s | transactions/s | server's CPU, s |")
    print("|---|---:|---:|---:|---:|---:|")
    if "embedded" in options.only:
        with tempfile.TemporaryDirectory(prefix="optimist-webhooks-") as folder:
            measure("embedded", ["--data", f"{folder}/data"], options)
    if "postgres" in options.only:
        with Cluster() as cluster:
            with Server.shared(cluster):
                pass
            measure("PostgreSQL", ["--database", cluster.url, "--secret", str(cluster.secret), "--schema",
                                   str(cluster.folder / "schema.json")], options)


if __name__ == "__main__":
    main()
