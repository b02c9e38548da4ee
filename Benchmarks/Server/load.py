#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Measures the server under load, with its embedded database and on PostgreSQL, and compares it with pgbench.

    Benchmarks/Server/load.py [--only singles,batches,delivery,idle] [--seconds 10]

Everything runs on this machine. OPTIMIST is the path of the command, built for release. Needs wrk and PostgreSQL.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Scripts"), str(Path(__file__).parent)]
from servers import Cluster, Server, people, push_body  # noqa: E402
from streams import delivery, idle  # noqa: E402

PUSH = Path(__file__).parent / "push.lua"
CONNECTIONS = 64


def singles(server, seconds, accounts=CONNECTIONS):
    """Pushes single new rows durably over 64 connections. Returns pushes per second, and p50 and p99 in ms."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        for person in people(server, accounts):
            file.write(f"{person.account} {person.token}\n")
        file.flush()
        said = subprocess.run(
            ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "60s", "--latency", "-s", PUSH,
             f"{server.address}/jmap"],
            env={**os.environ, "PEOPLE": file.name}, capture_output=True, text=True, check=True).stdout
    failed = re.search(r"failed: (\d+)", said)
    assert failed and failed[1] == "0", said
    rate = float(re.search(r"Requests/sec: +([\d.]+)", said)[1])
    return rate, milliseconds(said, "50%"), milliseconds(said, "99%")


def milliseconds(said, share):
    number, unit = re.search(rf"{share} +([\d.]+)(us|ms|s)", said).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def batches(server, seconds, workers=4):
    """Pushes batches of 1,000 new rows. Returns rows per second."""
    rows, end = [0] * workers, time.monotonic() + seconds

    def work(number, person):
        connection = server.connect()
        push = 0
        while time.monotonic() < end:
            push += 1
            status, answer = server.post(connection, "/jmap", push_body(person, number, push, 1000), person.token)
            assert status == 200 and b'"notCreated":{"' not in answer, answer[:300]
            rows[number] += 1000

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(people(server, workers))]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(rows) / (time.monotonic() - started)


def show(what, *figures):
    print(f"| {what} | " + " | ".join(figures) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="singles,batches,delivery,idle")
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    parts = set(options.only.split(","))
    print("| measure | embedded | PostgreSQL | floor |\n|---|---|---|---|")
    with Server.embedded() as embedded, Cluster() as cluster, Server.shared(cluster) as one, \
            Server.shared(cluster) as two, Server.shared(cluster) as three:
        if "singles" in parts:
            floor = cluster.pgbench(CONNECTIONS, options.seconds)
            (a, a50, a99), (b, b50, b99) = singles(embedded, options.seconds), singles(one, options.seconds)
            show("single pushes per second, 64 connections", f"{a:,.0f}", f"{b:,.0f} ({b / floor:.2f} of the floor)",
                 f"pgbench: {floor:,.0f}")
            show("p50 · p99, ms", f"{a50:.1f} · {a99:.1f}", f"{b50:.1f} · {b99:.1f}", "")
        if "batches" in parts:
            a, b = batches(embedded, options.seconds), batches(one, options.seconds)
            show("rows per second in batches of 1,000", f"{a:,.0f}", f"{b:,.0f} ({b / a:.2f} of the embedded)", "")
        if "delivery" in parts:
            a, b = delivery(embedded, embedded, options.seconds), delivery(one, two, options.seconds)
            show("from a write to the other device, p50 · p99, ms, 1,000 devices, 200 writes/s",
                 "{:.1f} · {:.1f}".format(*a), "{:.1f} · {:.1f} (through another process)".format(*b), "")
        if "idle" in parts:
            show("10,000 idle streams: MB · share of a core", idle([embedded]), idle([one, two, three]), "")


if __name__ == "__main__":
    main()
